#!/bin/bash
cd /app/tally
meter=$(sed -n '2s/,.*//p' /app/reports/usage.csv)
printf '[blocked]\nmeters = %s\n' "$meter" > conf.d/60-blocked.conf
# A later file sets the same and wins; the reload succeeds without any effect.
# key-step: begin
sed -i "s/^meters = .*/meters = $meter/" conf.d/90-host.conf
# key-step: end
# event: begin reload
./tallyctl reload
# event: end
