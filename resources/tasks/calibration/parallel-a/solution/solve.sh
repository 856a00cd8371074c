#!/bin/bash
# Ten answers, each with one command.
set -euo pipefail
cd /app
mkdir -p answers

# Step 1: Look up devedub and then gudubig in data-01.txt and join the two values with _.
echo "$(sed -n s/^devedub=//p data-01.txt)_$(sed -n s/^gudubig=//p data-01.txt)" > answers/01.txt

# Step 2: Column 2 of data-02.txt is hexadecimal. Give the sum of its numbers in decimal.
echo $(($(sed 's/.* /0x/' data-02.txt | paste -sd+))) > answers/02.txt

# Step 3: Join character 3 of every line of data-03.txt, from top to bottom.
cut -c3 data-03.txt | tr -d '\n' > answers/03.txt

# Step 4: Join with a full stop the lines of data-04.txt that begin with the letter d, sorted.
grep ^d data-04.txt | sort | paste -sd. > answers/04.txt

# Step 5: Join with + the words beside the 3 smallest numbers in column 3 of data-05.txt, smallest first.
sort -n -k3,3 data-05.txt | head -n 3 | cut -d' ' -f1 | paste -sd+ > answers/05.txt

# Step 6: Line 9 of data-06.txt is base64. What does it say?
sed -n 9p data-06.txt | base64 -d > answers/06.txt

# Step 7: Take the SHA-256 of line 14 of data-07.txt without its newline and keep the first 16 digits.
sed -n 14p data-07.txt | tr -d '\n' | sha256sum | cut -c1-16 > answers/07.txt

# Step 8: Which lines of data-08.txt contain riromup? Join their last words with -, in order.
grep -w riromup data-08.txt | awk '{print $NF}' | paste -sd- > answers/08.txt

# Step 9: Reverse line 14 of data-09.txt letter by letter and leave out the spaces.
sed -n 14p data-09.txt | rev | tr -d ' ' > answers/09.txt

# Step 10: How much larger is the largest number in column 2 of data-10.txt than the smallest in column 3?
echo $(($(cut -d' ' -f2 data-10.txt | sort -n | tail -n 1) - $(cut -d' ' -f3 data-10.txt | sort -n | head -n 1))) > answers/10.txt
