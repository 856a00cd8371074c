# Days, counts and means from the archive itself: a concentration below zero is no measurement.
expected=$(python3 -c '
import csv, io, tarfile
with tarfile.open("/app/inbox/station.tar.gz", ignore_zeros=True) as archive:
    for member in sorted(archive.getmembers(), key=lambda m: m.name):
        if member.name.endswith(".csv"):
            data = archive.extractfile(member).read()
            text = data.decode("utf-16" if data[:2] == b"\xff\xfe" else "latin-1")
            rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=";"))[1:]
            values = [v for v in (float(r[2].replace(",", ".")) for r in rows) if v >= 0]
            print(member.name[:-4], len(values), sum(values) / len(values))')
report=/app/reports/daily.csv
expect_file "report is there" "$report"
expect_eq "days in order" "$(column "$report" day:1)" "$(cut -d ' ' -f 1 <<< "$expected")" seq
while read -r day count mean; do
  expect_eq "measurements of $day" "$(cell "$report" day:1 "$day" measured:2)" "$count" int
  reported=$(cell "$report" day:1 "$day" mean_pm10:3)
  # Two decimals, however a tie is rounded.
  if awk -v a="$reported" -v b="$mean" 'BEGIN {d = a - b; exit !(a != "" && d <= 0.0051 && d >= -0.0051)}'; then
    pass "mean of $day"
  else
    fail "mean of $day" "'$reported' is not $mean to two decimals"
  fi
done <<< "$expected"
