#!/bin/bash
# Works the answer out again from the copy of the data in this folder: nothing the agent can write is trusted.
cd "$(dirname "$0")" || exit 1
reward=0
# What a file of the agent says, without white space. Not followed: links, pipes, devices.
given() {
  [ -f "$1" ] && [ ! -L "$1" ] && head -c 4096 "$1" | tr -d '[:space:]'
}

# Decode line 10 of data-06.txt from base64.
expected=$(sed -n 10p data-06.txt | base64 -d)
[ -n "$expected" ] && [ "$(given /app/answer.txt)" = "$expected" ] && reward=1
echo "$reward" > /logs/verifier/reward.txt
