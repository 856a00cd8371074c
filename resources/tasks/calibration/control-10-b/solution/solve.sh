#!/bin/bash
# Each answer is the password of the next step.
set -euo pipefail
cd /app

# Step 1: Subtract the smallest number in column 3 of data-01.txt from the largest in column 2.
answer=$(echo $(($(cut -d' ' -f2 data-01.txt | sort -n | tail -n 1) - $(cut -d' ' -f3 data-01.txt | sort -n | head -n 1))))
openssl enc -d -aes-256-cbc -pbkdf2 -in step-02.enc -pass "pass:$answer" | tar x

# Step 2: Line 5 of data-02.txt is in ROT13. What does it say?
answer=$(sed -n 5p data-02.txt | tr a-z n-za-m)
openssl enc -d -aes-256-cbc -pbkdf2 -in step-03.enc -pass "pass:$answer" | tar x

# Step 3: What is the total of column 3 of data-03.txt?
answer=$(echo $(($(cut -d' ' -f3 data-03.txt | paste -sd+))))
openssl enc -d -aes-256-cbc -pbkdf2 -in step-04.enc -pass "pass:$answer" | tar x

# Step 4: What is the product of the two numbers beside mugamif in data-04.txt?
answer=$(echo $(($(awk '/^mugamif / {print $2 "*" $3}' data-04.txt))))
openssl enc -d -aes-256-cbc -pbkdf2 -in step-05.enc -pass "pass:$answer" | tar x

# Step 5: Look up runopab and then gebefez in data-05.txt and join the two values with _.
answer=$(echo "$(sed -n s/^runopab=//p data-05.txt)_$(sed -n s/^gebefez=//p data-05.txt)")
openssl enc -d -aes-256-cbc -pbkdf2 -in step-06.enc -pass "pass:$answer" | tar x

# Step 6: Reverse line 13 of data-06.txt letter by letter and leave out the spaces.
answer=$(sed -n 13p data-06.txt | rev | tr -d ' ')
openssl enc -d -aes-256-cbc -pbkdf2 -in step-07.enc -pass "pass:$answer" | tar x

# Step 7: Join with , the lines that occur exactly once in data-07.txt, in alphabetical order.
answer=$(sort data-07.txt | uniq -u | paste -sd,)
openssl enc -d -aes-256-cbc -pbkdf2 -in step-08.enc -pass "pass:$answer" | tar x

# Step 8: Join with a full stop the lines of data-08.txt that begin with the letter f, sorted.
answer=$(grep ^f data-08.txt | sort | paste -sd.)
openssl enc -d -aes-256-cbc -pbkdf2 -in step-09.enc -pass "pass:$answer" | tar x

# Step 9: Sort data-09.txt by the number in column 2 and join the words of the first 4 lines with +.
answer=$(sort -n -k2,2 data-09.txt | head -n 4 | cut -d' ' -f1 | paste -sd+)
openssl enc -d -aes-256-cbc -pbkdf2 -in step-10.enc -pass "pass:$answer" | tar x

# Step 10: Add the hexadecimal numbers in column 2 of data-10.txt and answer in decimal.
answer=$(echo $(($(sed 's/.* /0x/' data-10.txt | paste -sd+))))
echo "$answer" > answer.txt
