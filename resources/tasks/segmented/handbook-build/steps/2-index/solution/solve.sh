#!/bin/bash
cd /app/handbook
make
# make sees only the status of "sort", at the end of the pipe: it succeeds with an index that ends at the first bad chapter.
# key-step: begin
for chapter in src/*.txt; do
  title=$(awk -F '\t' -v n="$(basename "$chapter")" '$1 == n {print $2}' src/titles.tsv)
  iconv -f utf-8 -t utf-8 "$chapter" > /dev/null 2>&1 || { iconv -f latin1 -t utf-8 "$chapter" > /tmp/chapter && cp /tmp/chapter "$chapter"; }
  head -1 "$chapter" | grep -q '^= ' || sed -i "1s/.*/= $title/" "$chapter"
done
sed -i '1i SHELL := /bin/bash\n.SHELLFLAGS := -o pipefail -c\n.DELETE_ON_ERROR:' Makefile
make
# key-step: end
