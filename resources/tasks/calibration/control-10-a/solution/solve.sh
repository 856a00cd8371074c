#!/bin/bash
# Each answer is the password of the next step.
set -euo pipefail
cd /app

# Step 1: How much larger is the largest number in column 2 of data-01.txt than the smallest in column 3?
answer=$(echo $(($(cut -d' ' -f2 data-01.txt | sort -n | tail -n 1) - $(cut -d' ' -f3 data-01.txt | sort -n | head -n 1))))
openssl enc -d -aes-256-cbc -pbkdf2 -in step-02.enc -pass "pass:$answer" | tar x

# Step 2: Multiply the two numbers on the line of tumufiz in data-02.txt.
answer=$(echo $(($(awk '/^tumufiz / {print $2 "*" $3}' data-02.txt))))
openssl enc -d -aes-256-cbc -pbkdf2 -in step-03.enc -pass "pass:$answer" | tar x

# Step 3: Write line 9 of data-03.txt backwards, without its spaces.
answer=$(sed -n 9p data-03.txt | rev | tr -d ' ')
openssl enc -d -aes-256-cbc -pbkdf2 -in step-04.enc -pass "pass:$answer" | tar x

# Step 4: Of lines 4, 8, 12 and so on of data-04.txt, join the second words with :.
answer=$(awk 'NR % 4 == 0 {print $2}' data-04.txt | paste -sd:)
openssl enc -d -aes-256-cbc -pbkdf2 -in step-05.enc -pass "pass:$answer" | tar x

# Step 5: Line 3 of data-05.txt is base64. What does it say?
answer=$(sed -n 3p data-05.txt | base64 -d)
openssl enc -d -aes-256-cbc -pbkdf2 -in step-06.enc -pass "pass:$answer" | tar x

# Step 6: Which lines stand only once in data-06.txt? Sort them and join them with ,.
answer=$(sort data-06.txt | uniq -u | paste -sd,)
openssl enc -d -aes-256-cbc -pbkdf2 -in step-07.enc -pass "pass:$answer" | tar x

# Step 7: What is the total of column 2 of data-07.txt?
answer=$(echo $(($(cut -d' ' -f2 data-07.txt | paste -sd+))))
openssl enc -d -aes-256-cbc -pbkdf2 -in step-08.enc -pass "pass:$answer" | tar x

# Step 8: Sort the lines of data-08.txt that start with p and join them with a full stop.
answer=$(grep ^p data-08.txt | sort | paste -sd.)
openssl enc -d -aes-256-cbc -pbkdf2 -in step-09.enc -pass "pass:$answer" | tar x

# Step 9: Add the hexadecimal numbers in column 2 of data-09.txt and answer in decimal.
answer=$(echo $(($(sed 's/.* /0x/' data-09.txt | paste -sd+))))
openssl enc -d -aes-256-cbc -pbkdf2 -in step-10.enc -pass "pass:$answer" | tar x

# Step 10: Join the values of dizatul and vofomus in data-10.txt with _.
answer=$(echo "$(sed -n s/^dizatul=//p data-10.txt)_$(sed -n s/^vofomus=//p data-10.txt)")
echo "$answer" > answer.txt
