#!/bin/bash
# Each answer goes into the next command.
set -euo pipefail
cd /app
# Step 1: Take word 3 of line 9 of data-01.txt.
answer=$(sed -n 9p data-01.txt | cut -d' ' -f3)
# Step 2: Write the answer of step 1 backwards.
answer=$(rev <<< "$answer")
# Step 3: Apply ROT13 to the answer of step 2.
answer=$(tr a-z n-za-m <<< "$answer")
# Step 4: Append word 2 of line 13 of data-04.txt to the answer of step 3.
answer=$(echo "$answer$(sed -n 13p data-04.txt | cut -d' ' -f2)")
# Step 5: Take the SHA-256 of the answer of step 4, without a newline; keep the first 16 digits.
answer=$(printf %s "$answer" | sha256sum | cut -c1-16)
# Step 6: Keep characters 1, 3, 5 and so on of the answer of step 5.
answer=$(sed 's/\(.\)./\1/g' <<< "$answer")
# Step 7: Leave out the vowels of the answer of step 6.
answer=$(tr -d aeiou <<< "$answer")
# Step 8: Find the answer of step 7 in data-08.txt; take the line after it.
answer=$(grep -x -A1 "$answer" data-08.txt | tail -n 1)
# Step 9: Move the first 2 characters of the answer of step 8 to its end.
answer=$(echo "${answer:2}${answer:0:2}")
# Step 10: Find the line of data-10.txt that starts with the answer of step 9; take its word 2.
answer=$(grep "^$answer " data-10.txt | cut -d' ' -f2)
echo "$answer" > answer.txt
