#!/bin/bash
# Works the answer out again from the copy of the data in this folder: nothing the agent can write is trusted.
cd "$(dirname "$0")" || exit 1
reward=0
# What a file of the agent says, without white space. Not followed: links, pipes, devices.
given() {
  [ -f "$1" ] && [ ! -L "$1" ] && head -c 4096 "$1" | tr -d '[:space:]'
}

right=0
# Subtract the smallest number in column 3 of data-01.txt from the largest in column 2.
expected=$(echo $(($(cut -d' ' -f2 data-01.txt | sort -n | tail -n 1) - $(cut -d' ' -f3 data-01.txt | sort -n | head -n 1))))
[ -n "$expected" ] && [ "$(given /app/answers/01.txt)" = "$expected" ] && right=$((right + 1))
# Join with a full stop the lines of data-02.txt that begin with the letter v, sorted.
expected=$(grep ^v data-02.txt | sort | paste -sd.)
[ -n "$expected" ] && [ "$(given /app/answers/02.txt)" = "$expected" ] && right=$((right + 1))
# Join character 6 of every line of data-03.txt, from top to bottom.
expected=$(cut -c6 data-03.txt | tr -d '\n')
[ -n "$expected" ] && [ "$(given /app/answers/03.txt)" = "$expected" ] && right=$((right + 1))
# Add up the numbers in column 2 of data-04.txt.
expected=$(echo $(($(cut -d' ' -f2 data-04.txt | paste -sd+))))
[ -n "$expected" ] && [ "$(given /app/answers/04.txt)" = "$expected" ] && right=$((right + 1))
# Join the values of bolikuz and sufisid in data-05.txt with _.
expected=$(echo "$(sed -n s/^bolikuz=//p data-05.txt)_$(sed -n s/^sufisid=//p data-05.txt)")
[ -n "$expected" ] && [ "$(given /app/answers/05.txt)" = "$expected" ] && right=$((right + 1))
# Sort data-06.txt by the number in column 2 and join the words of the first 5 lines with +.
expected=$(sort -n -k2,2 data-06.txt | head -n 5 | cut -d' ' -f1 | paste -sd+)
[ -n "$expected" ] && [ "$(given /app/answers/06.txt)" = "$expected" ] && right=$((right + 1))
# Multiply the two numbers on the line of rezunoz in data-07.txt.
expected=$(echo $(($(awk '/^rezunoz / {print $2 "*" $3}' data-07.txt))))
[ -n "$expected" ] && [ "$(given /app/answers/07.txt)" = "$expected" ] && right=$((right + 1))
# Which lines of data-08.txt contain debufof? Join their last words with -, in order.
expected=$(grep -w debufof data-08.txt | awk '{print $NF}' | paste -sd-)
[ -n "$expected" ] && [ "$(given /app/answers/08.txt)" = "$expected" ] && right=$((right + 1))
# Take each line of data-09.txt whose number divides by 3 and join their second words with :.
expected=$(awk 'NR % 3 == 0 {print $2}' data-09.txt | paste -sd:)
[ -n "$expected" ] && [ "$(given /app/answers/09.txt)" = "$expected" ] && right=$((right + 1))
# Hash line 14 of data-10.txt with SHA-256, its newline left out; the first 16 hex digits are the answer.
expected=$(sed -n 14p data-10.txt | tr -d '\n' | sha256sum | cut -c1-16)
[ -n "$expected" ] && [ "$(given /app/answers/10.txt)" = "$expected" ] && right=$((right + 1))
echo "$right of 10 answers are right"
[ "$right" = 10 ] && reward=1
echo "$reward" > /logs/verifier/reward.txt
