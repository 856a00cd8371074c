#!/bin/bash
# Works the answer out again from the copy of the data in this folder: nothing the agent can write is trusted.
cd "$(dirname "$0")" || exit 1
reward=0
# What a file of the agent says, without white space. Not followed: links, pipes, devices.
given() {
  [ -f "$1" ] && [ ! -L "$1" ] && head -c 4096 "$1" | tr -d '[:space:]'
}

right=0
# Look up devedub and then gudubig in data-01.txt and join the two values with _.
expected=$(echo "$(sed -n s/^devedub=//p data-01.txt)_$(sed -n s/^gudubig=//p data-01.txt)")
[ -n "$expected" ] && [ "$(given /app/answers/01.txt)" = "$expected" ] && right=$((right + 1))
# Column 2 of data-02.txt is hexadecimal. Give the sum of its numbers in decimal.
expected=$(echo $(($(sed 's/.* /0x/' data-02.txt | paste -sd+))))
[ -n "$expected" ] && [ "$(given /app/answers/02.txt)" = "$expected" ] && right=$((right + 1))
# Join character 3 of every line of data-03.txt, from top to bottom.
expected=$(cut -c3 data-03.txt | tr -d '\n')
[ -n "$expected" ] && [ "$(given /app/answers/03.txt)" = "$expected" ] && right=$((right + 1))
# Join with a full stop the lines of data-04.txt that begin with the letter d, sorted.
expected=$(grep ^d data-04.txt | sort | paste -sd.)
[ -n "$expected" ] && [ "$(given /app/answers/04.txt)" = "$expected" ] && right=$((right + 1))
# Join with + the words beside the 3 smallest numbers in column 3 of data-05.txt, smallest first.
expected=$(sort -n -k3,3 data-05.txt | head -n 3 | cut -d' ' -f1 | paste -sd+)
[ -n "$expected" ] && [ "$(given /app/answers/05.txt)" = "$expected" ] && right=$((right + 1))
# Line 9 of data-06.txt is base64. What does it say?
expected=$(sed -n 9p data-06.txt | base64 -d)
[ -n "$expected" ] && [ "$(given /app/answers/06.txt)" = "$expected" ] && right=$((right + 1))
# Take the SHA-256 of line 14 of data-07.txt without its newline and keep the first 16 digits.
expected=$(sed -n 14p data-07.txt | tr -d '\n' | sha256sum | cut -c1-16)
[ -n "$expected" ] && [ "$(given /app/answers/07.txt)" = "$expected" ] && right=$((right + 1))
# Which lines of data-08.txt contain riromup? Join their last words with -, in order.
expected=$(grep -w riromup data-08.txt | awk '{print $NF}' | paste -sd-)
[ -n "$expected" ] && [ "$(given /app/answers/08.txt)" = "$expected" ] && right=$((right + 1))
# Reverse line 14 of data-09.txt letter by letter and leave out the spaces.
expected=$(sed -n 14p data-09.txt | rev | tr -d ' ')
[ -n "$expected" ] && [ "$(given /app/answers/09.txt)" = "$expected" ] && right=$((right + 1))
# How much larger is the largest number in column 2 of data-10.txt than the smallest in column 3?
expected=$(echo $(($(cut -d' ' -f2 data-10.txt | sort -n | tail -n 1) - $(cut -d' ' -f3 data-10.txt | sort -n | head -n 1))))
[ -n "$expected" ] && [ "$(given /app/answers/10.txt)" = "$expected" ] && right=$((right + 1))
echo "$right of 10 answers are right"
[ "$right" = 10 ] && reward=1
echo "$reward" > /logs/verifier/reward.txt
