#!/bin/bash
cd /app/tally
mkdir -p /app/reports
# The pid file is from before the crash; its number now belongs to another process, so "start" does nothing. Once it is gone,
# the program ends at half a data file.
# key-step: begin
rm run/tally.pid data/readings.json
# key-step: end
# event: begin start
./tallyctl start
# event: end
{
  echo "port: $(./tallyctl config | sed -n 's/^server.port = \([0-9]*\).*/\1/p')"
  echo "pid: $(cat run/tally.pid 2> /dev/null)"
} > /app/reports/service.txt
