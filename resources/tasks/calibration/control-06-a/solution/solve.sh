#!/bin/bash
# Each answer is the password of the next step.
set -euo pipefail
cd /app

# Step 1: Line 9 of data-01.txt is in ROT13. What does it say?
answer=$(sed -n 9p data-01.txt | tr a-z n-za-m)
openssl enc -d -aes-256-cbc -pbkdf2 -in step-02.enc -pass "pass:$answer" | tar x

# Step 2: Add the hexadecimal numbers in column 2 of data-02.txt and answer in decimal.
answer=$(echo $(($(sed 's/.* /0x/' data-02.txt | paste -sd+))))
openssl enc -d -aes-256-cbc -pbkdf2 -in step-03.enc -pass "pass:$answer" | tar x

# Step 3: What is the product of the two numbers beside valurob in data-03.txt?
answer=$(echo $(($(awk '/^valurob / {print $2 "*" $3}' data-03.txt))))
openssl enc -d -aes-256-cbc -pbkdf2 -in step-04.enc -pass "pass:$answer" | tar x

# Step 4: Take each line of data-04.txt whose number divides by 4 and join their second words with :.
answer=$(awk 'NR % 4 == 0 {print $2}' data-04.txt | paste -sd:)
openssl enc -d -aes-256-cbc -pbkdf2 -in step-05.enc -pass "pass:$answer" | tar x

# Step 5: How much larger is the largest number in column 2 of data-05.txt than the smallest in column 3?
answer=$(echo $(($(cut -d' ' -f2 data-05.txt | sort -n | tail -n 1) - $(cut -d' ' -f3 data-05.txt | sort -n | head -n 1))))
openssl enc -d -aes-256-cbc -pbkdf2 -in step-06.enc -pass "pass:$answer" | tar x

# Step 6: Join with a full stop the lines of data-06.txt that begin with the letter b, sorted.
answer=$(grep ^b data-06.txt | sort | paste -sd.)
echo "$answer" > answer.txt
