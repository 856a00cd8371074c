# Every reading as the archive holds it, and what the table makes of it, in one form that can be compared line by line.
expected=$(python3 -c '
import csv, io, json, tarfile
with tarfile.open("/app/inbox/station.tar.gz", ignore_zeros=True) as archive:
    for member in sorted(archive.getmembers(), key=lambda m: m.name):
        if member.name.endswith(".csv"):
            data = archive.extractfile(member).read()
            text = data.decode("utf-16" if data[:2] == b"\xff\xfe" else "latin-1")
            for row in list(csv.reader(io.StringIO(text, newline=""), delimiter=";"))[1:]:
                print(json.dumps([row[0], row[1], float(row[2].replace(",", ".")), row[3]]))')
found=$(python3 -c '
import csv, json
with open("/app/data/readings.csv", encoding="utf-8", newline="") as table:
    for row in list(csv.reader(table))[1:]:
        print(json.dumps([row[0], row[1], float(row[2]), row[3].replace("\r\n", "\n")]))' 2>&1)
table=/app/data/readings.csv
column_of() { python3 -c 'import json, sys; [print(json.loads(l)[int(sys.argv[1])]) for l in sys.stdin if l.startswith("[")]' "$1"; }

expect_file "table is there" "$table"
expect_eq "header" "$(head -1 "$table" 2> /dev/null | tr -d '\r')" "station,taken_at,pm10,remark" exact
expect_eq "readings" "$(wc -l <<< "$found")" "$(wc -l <<< "$expected")" int
expect_eq "times in order" "$(column_of 1 <<< "$found")" "$(column_of 1 <<< "$expected")" exact
expect_eq "numbers" "$(column_of 2 <<< "$found")" "$(column_of 2 <<< "$expected")" exact
expect_eq "texts, letter by letter" "$(sha256sum <<< "$found")" "$(sha256sum <<< "$expected")" exact
