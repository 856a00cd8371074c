work=$(mktemp -d)
cd /app/handbook
expected=$(while IFS=$'\t' read -r name title; do
  LC_ALL=C grep -ao '\*[a-z]*\*' "src/$name" | tr -d '*' | sed "s/\$/\t$title/"
done < src/titles.tsv | LC_ALL=C sort -u)
tar -xzf out/handbook-2.0.tar.gz -C "$work" 2> /dev/null
expect_eq "archive holds the two files" "$(tar -tzf out/handbook-2.0.tar.gz 2> /dev/null | sed 's:^\./::' | grep -v '/$')" "handbook.txt index.txt" set
expect_eq "handbook in it" "$(sha256sum < "$work/handbook.txt")" "$(cat src/*.txt | sha256sum)" exact
expect_eq "index in it" "$(LC_ALL=C sort -u "$work/index.txt" 2> /dev/null)" "$expected" exact
cp -a /app/handbook "$work/copy"
expect_out "make dist asks for 3.9" 'require.py 3\.9' -- make -n -C "$work/copy" dist
expect_ok "make dist succeeds" -- make -C "$work/copy" dist
for version in 3.2 3.9; do
  expect_ok "this Python is at least $version" -- python3 tools/require.py "$version"
done
for version in 3.70 4.0; do
  expect_fail "this Python is not $version" 'is needed' -- python3 tools/require.py "$version"
done
rm -rf "$work"
