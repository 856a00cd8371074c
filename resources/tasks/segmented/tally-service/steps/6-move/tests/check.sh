home=/app/tally
old=$(field /app/reports/service.txt port)
most=$(python3 -c '
import json
total = {}
for r in json.load(open("/app/inbox/readings.json")):
    total[r["device"]] = total.get(r["device"], 0) + r["value"] / (1000 if r["unit"] == "Wh" else 1)
print(max(total, key=lambda meter: total[meter]))')
get() { curl -sS --max-time 10 "http://127.0.0.1:8111$1" 2>&1; }
value() { sed -n "s/.*\"$1\": \([^,}]*\).*/\1/p"; }

expect_eq "it answers on 8111" "$(get /health | value ok)" true bool
expect_eq "it is the one tallyctl controls" "$(get /health | value pid)" "$(cat "$home/run/tally.pid")" int
expect_fail "nothing listens on the old port" 'refused|connect' -- bash -c "exec 3<> /dev/tcp/127.0.0.1/$old"
expect_eq "it has its readings" "$(get /health | value readings)" \
  "$(python3 -c 'import json; print(len(json.load(open("/app/inbox/readings.json"))))')" int
expect_eq "meter is still blocked" "$(get "/meters/$most" | value blocked)" true bool
expect_out "log tells of the stop" " $(field /app/reports/service.txt pid) stopping" -- cat "$home/log/tally.log"
expect_out "log tells of the start" " $(cat "$home/run/tally.pid") listening on 127.0.0.1:8111" -- cat "$home/log/tally.log"
expect_no_out "old log stays as it is" 'stopping' -- cat "$home/log/tally.log.1"
