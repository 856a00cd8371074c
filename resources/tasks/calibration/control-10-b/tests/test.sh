#!/bin/bash
# Works the answer out again from the copy of the data in this folder: nothing the agent can write is trusted.
cd "$(dirname "$0")" || exit 1
reward=0
# What a file of the agent says, without white space. Not followed: links, pipes, devices.
given() {
  [ -f "$1" ] && [ ! -L "$1" ] && head -c 4096 "$1" | tr -d '[:space:]'
}

# Add the hexadecimal numbers in column 2 of data-10.txt and answer in decimal.
expected=$(echo $(($(sed 's/.* /0x/' data-10.txt | paste -sd+))))
[ -n "$expected" ] && [ "$(given /app/answer.txt)" = "$expected" ] && reward=1
echo "$reward" > /logs/verifier/reward.txt
