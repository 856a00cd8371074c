work=$(mktemp -d)
cd /app/handbook
hash() { sha256sum < "$1" 2> /dev/null | cut -d ' ' -f 1; }
expect_eq "archive holds the two files" "$(tar -tzf out/handbook-2.0.tar.gz 2> /dev/null | sed 's:^\./::' | grep -v '/$')" "handbook.txt index.txt" set
expect_eq "index in it is the one of out" "$(tar -xzOf out/handbook-2.0.tar.gz index.txt 2> /dev/null | sha256sum)" "$(sha256sum < out/index.txt)" exact
# Another folder and another day: everything is dated back, what make builds before the archive too.
cp -r /app/handbook "$work/other"
rm -rf "$work/other/out"
mkdir "$work/other/out"
find "$work/other" -type f -exec touch -d '2001-02-03 04:05:06' {} +
make -C "$work/other" all > "$work/log" 2>&1
touch -d '2009-08-07 06:05:04' "$work/other/out/"*
expect_ok "make dist succeeds elsewhere" -- make -C "$work/other" dist
expect_eq "the same archive elsewhere" "$(hash "$work/other/out/handbook-2.0.tar.gz")" "$(hash out/handbook-2.0.tar.gz)" exact
expect_ok "SHA256SUMS holds" -- bash -c 'cd out && sha256sum -c SHA256SUMS'
expect_out "SHA256SUMS names the archive" 'handbook-2\.0\.tar\.gz' -- cat out/SHA256SUMS
rm -rf "$work"
