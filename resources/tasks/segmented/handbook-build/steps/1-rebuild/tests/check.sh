work=$(mktemp -d)
cd /app/handbook
expect_file "handbook is there" out/handbook.txt
expect_eq "it is made of the chapters" "$(sha256sum < out/handbook.txt)" "$(cat src/*.txt | sha256sum)" exact
# An edit is tried on a copy that keeps the times of the files.
cp -a /app/handbook "$work/copy"
sleep 0.1
echo "A probe of $$." >> "$work/copy/src/01-arrival.txt"
make -C "$work/copy" out/handbook.txt > "$work/log" 2>&1
expect_out "an edit is taken up" "A probe of $$" -- cat "$work/copy/out/handbook.txt"
rm -rf "$work"
