#!/bin/bash
cd /app/tally
port=$(sed -n 's/^port: //p' /app/reports/service.txt)
sed -i 's/^port = .*/port = 8111/' conf.d/50-site.conf
# On this machine the service does not save when it stops: without this it starts empty.
# key-step: begin
curl -sS -X POST "http://127.0.0.1:$port/save"
# key-step: end
# event: begin restart
./tallyctl stop
./tallyctl start
# event: end
