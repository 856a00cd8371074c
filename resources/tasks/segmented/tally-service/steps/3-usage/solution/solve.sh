#!/bin/bash
port=$(sed -n 's/^port: //p' /app/reports/service.txt)
pages=first
units=ignored
# One answer is one page of them; and some meters count in Wh.
# key-step: begin
pages=all
units=converted
# key-step: end
python3 - "$port" "$pages" "$units" > /app/reports/usage.csv <<'EOF'
import json, sys, urllib.request
port, pages, units = sys.argv[1:]
page, total = "/readings", {}
while page:
    reply = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}{page}"))
    for r in reply["readings"]:
        scale = 1000 if units == "converted" and r["unit"] == "Wh" else 1
        total[r["meter"]] = total.get(r["meter"], 0) + r["value"] / scale
    page = reply["next"] if pages == "all" else None
print("meter,kwh")
for meter, kwh in sorted(total.items(), key=lambda item: -item[1]):
    print(f"{meter},{kwh:.3f}")
EOF
