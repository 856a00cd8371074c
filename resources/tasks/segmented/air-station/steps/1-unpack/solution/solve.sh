#!/bin/bash
mkdir -p /app/data/raw /app/reports
more=""
# The file is two archives one after the other; tar ends with the first one and reports success.
# key-step: begin
more="--ignore-zeros"
# key-step: end
tar -xzf /app/inbox/station.tar.gz $more -C /app/data/raw
cd /app/data/raw
{
  echo "days: $(ls -- *.csv | wc -l)"
  echo "last_day: $(ls -- *.csv | sort | tail -1 | cut -d . -f 1)"
} > /app/reports/unpacked.txt
