log=/app/tally/log
port=$(field /app/reports/service.txt port)
most=$(python3 -c '
import json
total = {}
for r in json.load(open("/app/inbox/readings.json")):
    total[r["device"]] = total.get(r["device"], 0) + r["value"] / (1000 if r["unit"] == "Wh" else 1)
print(max(total, key=lambda meter: total[meter]))')
get() { curl -sS --max-time 10 "http://127.0.0.1:$port$1" 2>&1; }
value() { sed -n "s/.*\"$1\": \([^,}]*\).*/\1/p"; }
# A request nobody made before, to see where its line goes.
probe="/probe-$$-$RANDOM"
get "$probe" > /dev/null

expect_out "old log has the start" 'listening on 127.0.0.1' -- cat "$log/tally.log.1"
expect_out "old log has the blocked meter" "settings read, blocked meters: $most\$" -- cat "$log/tally.log.1"
expect_out "new lines go to the new log" "GET $probe " -- cat "$log/tally.log"
expect_no_out "no new line goes to the old log" "GET $probe " -- cat "$log/tally.log.1"
expect_eq "it is still the same process" "$(get /health | value pid)" "$(field /app/reports/service.txt pid)" int
expect_eq "it has its readings" "$(get /health | value readings)" \
  "$(python3 -c 'import json; print(len(json.load(open("/app/inbox/readings.json"))))')" int
