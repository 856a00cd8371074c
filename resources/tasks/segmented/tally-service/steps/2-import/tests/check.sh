port=$(field /app/reports/service.txt port)
expected=$(python3 -c 'import json; print(len(json.load(open("/app/inbox/readings.json"))))')
health() { curl -sS --max-time 10 "http://127.0.0.1:$port/health" 2>&1; }
value() { sed -n "s/.*\"$1\": \([^,}]*\).*/\1/p"; }
# All readings the service gives out, page by page, against the file.
different=$(python3 - "$port" <<'EOF' 2>&1
import json, sys, urllib.request
base, page, kept = f"http://127.0.0.1:{sys.argv[1]}", "/readings", []
while page:
    reply = json.load(urllib.request.urlopen(base + page, timeout=10))
    kept, page = kept + reply["readings"], reply["next"]
wanted = [{("meter" if k == "device" else k): v for k, v in r.items()} for r in json.load(open("/app/inbox/readings.json"))]
print(sum(r not in kept for r in wanted))
EOF
)
expect_eq "readings counted" "$(health | value readings)" "$expected" int
expect_eq "readings of the file that are missing or different" "$(tail -1 <<< "$different")" 0 text
expect_eq "it is still the same process" "$(health | value pid)" "$(field /app/reports/service.txt pid)" int
