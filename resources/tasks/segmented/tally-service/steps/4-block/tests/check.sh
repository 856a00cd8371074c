home=/app/tally
port=$(field /app/reports/service.txt port)
meters=$(python3 -c '
import json
total = {}
for r in json.load(open("/app/inbox/readings.json")):
    total[r["device"]] = total.get(r["device"], 0) + r["value"] / (1000 if r["unit"] == "Wh" else 1)
print("\n".join(sorted(total, key=lambda meter: -total[meter])))')
most=$(head -1 <<< "$meters")
get() { curl -sS --max-time 10 "http://127.0.0.1:$port$1" 2>&1; }
value() { sed -n "s/.*\"$1\": \([^,}]*\).*/\1/p"; }

while read -r meter; do
  wanted=false
  [ "$meter" = "$most" ] && wanted=true
  expect_eq "blocked: $meter" "$(get "/meters/$meter" | value blocked)" "$wanted" bool
done <<< "$meters"
expect_eq "it is still the same process" "$(get /health | value pid)" "$(field /app/reports/service.txt pid)" int
expect_eq "it has its readings" "$(get /health | value readings)" \
  "$(python3 -c 'import json; print(len(json.load(open("/app/inbox/readings.json"))))')" int
expect_out "its log says so" "settings read, blocked meters: $most\$" -- cat "$home/log/tally.log"
expect_out "its settings say so" "^blocked.meters = $most " -- "$home/tallyctl" config
