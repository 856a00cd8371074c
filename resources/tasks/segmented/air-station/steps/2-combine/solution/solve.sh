#!/bin/bash
cat > /tmp/combine.py <<'EOF'
import csv, pathlib
def encoding(data):
    return "latin-1"
EOF
# Half of the files, and only those, are UTF-16: read as the others are, every letter is followed by a NUL.
# key-step: begin
cat >> /tmp/combine.py <<'EOF'
def encoding(data):
    return "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "latin-1"
EOF
# key-step: end
cat >> /tmp/combine.py <<'EOF'
with open("/app/data/readings.csv", "w", encoding="utf-8", newline="") as out:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["station", "taken_at", "pm10", "remark"])
    for path in sorted(pathlib.Path("/app/data/raw").glob("*.csv")):
        data = path.read_bytes()
        text = data.decode(encoding(data))
        for row in list(csv.reader(text.splitlines(True), delimiter=";"))[1:]:
            writer.writerow([row[0], row[1], row[2].replace(",", "."), row[3]])
EOF
python3 /tmp/combine.py
rm /tmp/combine.py
