#!/bin/bash
# Writes everything the instruction describes.
set -euo pipefail
mkdir -p /app/out
cd /app/out
# A line for every n from 1 to 50
(echo n,square; for n in $(seq 50); do echo "$n,$((n * n))"; done) > squares.csv
# Multiples of 15 up to 728, and their sum
seq 15 15 728 > multiples.txt
echo $(($(paste -sd+ multiples.txt))) > total.txt
# Powers of two up to 2^36
for k in $(seq 0 36); do echo $((2 ** k)); done > powers.txt
# 22 numbered names and their digest
printf 'vonulab-%02d\n' $(seq 22) > names.txt
sha256sum < names.txt | cut -c1-64 > digest.txt
sha256sum squares.csv multiples.txt powers.txt > SHA256SUMS
# Pack the numbers
tar czf numbers.tar.gz squares.csv powers.txt
