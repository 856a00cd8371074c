#!/bin/bash
# Writes everything the instruction describes.
set -euo pipefail
mkdir -p /app/out
cd /app/out
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
# Pack the numbers
tar czf numbers.tar.gz squares.csv powers.txt
