report=/app/reports/usage.csv
expected=$(python3 -c '
import json
total = {}
for r in json.load(open("/app/inbox/readings.json")):
    total[r["device"]] = total.get(r["device"], 0) + r["value"] / (1000 if r["unit"] == "Wh" else 1)
for meter, kwh in sorted(total.items(), key=lambda item: -item[1]):
    print(meter, f"{kwh:.3f}")')
expect_eq "meters, the one with the most first" "$(column "$report" meter:1)" "$(cut -d ' ' -f 1 <<< "$expected")" seq
while read -r meter kwh; do
  expect_eq "kWh of $meter" "$(cell "$report" meter:1 "$meter" kwh:2)" "$kwh" num
done <<< "$expected"
