#!/bin/bash
# Each answer is the password of the next step.
set -euo pipefail
cd /app

# Step 1: What is the product of the two numbers beside pesorer in data-01.txt?
answer=$(echo $(($(awk '/^pesorer / {print $2 "*" $3}' data-01.txt))))
openssl enc -d -aes-256-cbc -pbkdf2 -in step-02.enc -pass "pass:$answer" | tar x

# Step 2: Reverse line 11 of data-02.txt letter by letter and leave out the spaces.
answer=$(sed -n 11p data-02.txt | rev | tr -d ' ')
openssl enc -d -aes-256-cbc -pbkdf2 -in step-03.enc -pass "pass:$answer" | tar x

# Step 3: Join with + the words beside the 4 smallest numbers in column 3 of data-03.txt, smallest first.
answer=$(sort -n -k3,3 data-03.txt | head -n 4 | cut -d' ' -f1 | paste -sd+)
openssl enc -d -aes-256-cbc -pbkdf2 -in step-04.enc -pass "pass:$answer" | tar x

# Step 4: Join the values of timukot and lebufor in data-04.txt with _.
answer=$(echo "$(sed -n s/^timukot=//p data-04.txt)_$(sed -n s/^lebufor=//p data-04.txt)")
openssl enc -d -aes-256-cbc -pbkdf2 -in step-05.enc -pass "pass:$answer" | tar x

# Step 5: Which lines of data-05.txt contain tavipez? Join their last words with -, in order.
answer=$(grep -w tavipez data-05.txt | awk '{print $NF}' | paste -sd-)
openssl enc -d -aes-256-cbc -pbkdf2 -in step-06.enc -pass "pass:$answer" | tar x

# Step 6: Decode line 10 of data-06.txt from base64.
answer=$(sed -n 10p data-06.txt | base64 -d)
echo "$answer" > answer.txt
