#!/bin/bash
cd /app/handbook
# The old target is dated years ahead: make takes it for up to date, whatever changes.
# key-step: begin
rm out/handbook.txt
# key-step: end
make out/handbook.txt
