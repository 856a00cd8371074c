#!/bin/bash
# Works the answer out again from the copy of the data in this folder: nothing the agent can write is trusted.
cd "$(dirname "$0")" || exit 1
reward=0
cd "$(mktemp -d)" || exit 1
# A line for every n from 1 to 28
(echo n,square; for n in $(seq 28); do echo "$n,$((n * n))"; done) > squares.csv
# Multiples of 7 up to 371, and their sum
seq 7 7 371 > multiples.txt
echo $(($(paste -sd+ multiples.txt))) > total.txt
# Powers of two up to 2^23
for k in $(seq 0 23); do echo $((2 ** k)); done > powers.txt
# 19 numbered names and their digest
printf 'kokonak-%02d\n' $(seq 19) > names.txt
sha256sum < names.txt | cut -c1-64 > digest.txt
sha256sum squares.csv multiples.txt powers.txt > SHA256SUMS
right=0
file() { [ -f "$1" ] && [ ! -L "$1" ]; }  # not followed: links, pipes, devices
for name in squares.csv multiples.txt total.txt powers.txt names.txt digest.txt SHA256SUMS; do
  file "/app/out/$name" && cmp "$name" "/app/out/$name" && right=$((right + 1))
done
packed=/app/out/numbers.tar.gz
for name in squares.csv powers.txt; do
  file $packed && tar xzOf $packed "$name" "./$name" 2> /dev/null | cmp - "$name" && right=$((right + 1))
done
echo "$right of 9 are right"
[ "$right" = 9 ] && reward=1
echo "$reward" > /logs/verifier/reward.txt
