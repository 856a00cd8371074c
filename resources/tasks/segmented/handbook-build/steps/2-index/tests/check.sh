work=$(mktemp -d)
cd /app/handbook
# The index as titles.tsv and the marked terms have it; the terms are plain ASCII in every chapter.
expected=$(while IFS=$'\t' read -r name title; do
  LC_ALL=C grep -ao '\*[a-z]*\*' "src/$name" | tr -d '*' | sed "s/\$/\t$title/"
done < src/titles.tsv | LC_ALL=C sort -u)
expect_eq "index is complete" "$(LC_ALL=C sort -u out/index.txt 2> /dev/null)" "$expected" exact
expect_eq "handbook is made of the chapters" "$(sha256sum < out/handbook.txt)" "$(cat src/*.txt | sha256sum)" exact
while IFS=$'\t' read -r name title; do
  expect_eq "title of $name" "$(head -1 "src/$name")" "= $title" exact
  expect_ok "$name is UTF-8" -- iconv -f utf-8 -t utf-8 "src/$name"
done < src/titles.tsv
# A chapter the program fails on is tried on a copy.
cp -a /app/handbook "$work/copy"
expect_ok "make succeeds" -- make -C "$work/copy"
sleep 0.1
echo "no title" > "$work/copy/src/99-probe.txt"
expect_fail "make fails when the program does" '99-probe' -- make -C "$work/copy"
rm -rf "$work"
