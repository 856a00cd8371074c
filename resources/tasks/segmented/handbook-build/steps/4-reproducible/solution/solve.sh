#!/bin/bash
cd /app/handbook
# tar records when its files were made: each build gives another archive.
# key-step: begin
sed -i 's/tar -czf/tar --sort=name --mtime=@0 --mode=a+rX,u+w,go-w --owner=0 --group=0 --numeric-owner -czf/' Makefile
# key-step: end
make dist
cd out && sha256sum handbook-2.0.tar.gz > SHA256SUMS
