home=/app/tally
report=/app/reports/service.txt
port=$("$home/tallyctl" config | sed -n 's/^server.port = \([0-9]*\).*/\1/p')
health() { curl -sS --max-time 10 "http://127.0.0.1:$port/health" 2>&1; }
value() { sed -n "s/.*\"$1\": \([^,}]*\).*/\1/p"; }

expect_proc "tallyd runs" tallyd.py
expect_eq "it answers" "$(health | value ok)" true bool
expect_eq "it is the one tallyctl controls" "$(health | value pid)" "$(cat "$home/run/tally.pid")" int
expect_eq "it starts empty" "$(health | value readings)" 0 int
expect_eq "report: port" "$(field "$report" port)" "$port" int
expect_eq "report: pid" "$(field "$report" pid)" "$(health | value pid)" int
