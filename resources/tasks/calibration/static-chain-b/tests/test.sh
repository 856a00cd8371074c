#!/bin/bash
# Works the answer out again from the copy of the data in this folder: nothing the agent can write is trusted.
cd "$(dirname "$0")" || exit 1
reward=0
# What a file of the agent says, without white space. Not followed: links, pipes, devices.
given() {
  [ -f "$1" ] && [ ! -L "$1" ] && head -c 4096 "$1" | tr -d '[:space:]'
}

# Step 1: Take word 2 of line 9 of data-01.txt.
answer=$(sed -n 9p data-01.txt | cut -d' ' -f2)
# Step 2: Write the answer of step 1 backwards.
answer=$(rev <<< "$answer")
# Step 3: Take the SHA-256 of the answer of step 2, without a newline; keep the first 16 digits.
answer=$(printf %s "$answer" | sha256sum | cut -c1-16)
# Step 4: Keep characters 1, 3, 5 and so on of the answer of step 3.
answer=$(sed 's/\(.\)./\1/g' <<< "$answer")
# Step 5: Find the line of data-05.txt that starts with the answer of step 4; take its word 4.
answer=$(grep "^$answer " data-05.txt | cut -d' ' -f4)
# Step 6: Append word 4 of line 12 of data-06.txt to the answer of step 5.
answer=$(echo "$answer$(sed -n 12p data-06.txt | cut -d' ' -f4)")
# Step 7: Apply ROT13 to the answer of step 6.
answer=$(tr a-z n-za-m <<< "$answer")
# Step 8: Move the first 4 characters of the answer of step 7 to its end.
answer=$(echo "${answer:4}${answer:0:4}")
# Step 9: Leave out the vowels of the answer of step 8.
answer=$(tr -d aeiou <<< "$answer")
# Step 10: Find the answer of step 9 in data-10.txt; take the line after it.
answer=$(grep -x -A1 "$answer" data-10.txt | tail -n 1)
[ -n "$answer" ] && [ "$(given /app/answer.txt)" = "$answer" ] && reward=1
echo "$reward" > /logs/verifier/reward.txt
