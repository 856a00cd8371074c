#!/bin/bash
cd /app/tally
mv log/tally.log log/tally.log.1
# The program goes on writing to the file it has open, whatever its name is now.
# key-step: begin
./tallyctl reopen
# key-step: end
curl -sS "http://127.0.0.1:$(sed -n 's/^port: //p' /app/reports/service.txt)/health"
