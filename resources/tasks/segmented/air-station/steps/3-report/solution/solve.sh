#!/bin/bash
keep="True"
# Hours in which the sensor was disturbed hold a number all the same.
# key-step: begin
keep="value >= 0"
# key-step: end
cat > /tmp/report.py <<EOF
import csv
days = {}
with open("/app/data/readings.csv", encoding="utf-8", newline="") as table:
    for row in csv.DictReader(table):
        value = float(row["pm10"])
        if $keep:
            days.setdefault(row["taken_at"][:10], []).append(value)
with open("/app/reports/daily.csv", "w") as out:
    print("day,measured,mean_pm10", file=out)
    for day, values in sorted(days.items()):
        print(day, len(values), f"{sum(values) / len(values):.2f}", sep=",", file=out)
EOF
python3 /tmp/report.py
rm /tmp/report.py
