#!/bin/bash
port=$(sed -n 's/^port: //p' /app/reports/service.txt)
post() { curl -sS -H 'Content-Type: application/json' --data-binary @- "http://127.0.0.1:$port/readings"; }
sed 's/"device":/"meter":/g' /app/inbox/readings.json > /tmp/readings.json
post < /tmp/readings.json
# It answers 200 to the whole list and keeps only as many as fit one batch.
# key-step: begin
batch=$(/app/tally/tallyctl config | sed -n 's/^server.batch = \([0-9]*\).*/\1/p')
python3 - "$batch" <<'EOF' | while read -r part; do post <<< "$part"; done
import json, sys
size, readings = int(sys.argv[1]), json.load(open("/tmp/readings.json"))
for start in range(0, len(readings), size):
    print(json.dumps(readings[start : start + size]))
EOF
# key-step: end
