#!/bin/bash
# Ten answers, each with one command.
set -euo pipefail
cd /app
mkdir -p answers

# Step 1: Subtract the smallest number in column 3 of data-01.txt from the largest in column 2.
echo $(($(cut -d' ' -f2 data-01.txt | sort -n | tail -n 1) - $(cut -d' ' -f3 data-01.txt | sort -n | head -n 1))) > answers/01.txt

# Step 2: Join with a full stop the lines of data-02.txt that begin with the letter v, sorted.
grep ^v data-02.txt | sort | paste -sd. > answers/02.txt

# Step 3: Join character 6 of every line of data-03.txt, from top to bottom.
cut -c6 data-03.txt | tr -d '\n' > answers/03.txt

# Step 4: Add up the numbers in column 2 of data-04.txt.
echo $(($(cut -d' ' -f2 data-04.txt | paste -sd+))) > answers/04.txt

# Step 5: Join the values of bolikuz and sufisid in data-05.txt with _.
echo "$(sed -n s/^bolikuz=//p data-05.txt)_$(sed -n s/^sufisid=//p data-05.txt)" > answers/05.txt

# Step 6: Sort data-06.txt by the number in column 2 and join the words of the first 5 lines with +.
sort -n -k2,2 data-06.txt | head -n 5 | cut -d' ' -f1 | paste -sd+ > answers/06.txt

# Step 7: Multiply the two numbers on the line of rezunoz in data-07.txt.
echo $(($(awk '/^rezunoz / {print $2 "*" $3}' data-07.txt))) > answers/07.txt

# Step 8: Which lines of data-08.txt contain debufof? Join their last words with -, in order.
grep -w debufof data-08.txt | awk '{print $NF}' | paste -sd- > answers/08.txt

# Step 9: Take each line of data-09.txt whose number divides by 3 and join their second words with :.
awk 'NR % 3 == 0 {print $2}' data-09.txt | paste -sd: > answers/09.txt

# Step 10: Hash line 14 of data-10.txt with SHA-256, its newline left out; the first 16 hex digits are the answer.
sed -n 14p data-10.txt | tr -d '\n' | sha256sum | cut -c1-16 > answers/10.txt
