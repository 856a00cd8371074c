# What the archive holds, by another reader than tar.
names=$(python3 -c '
import tarfile
with tarfile.open("/app/inbox/station.tar.gz", ignore_zeros=True) as archive:
    print("\n".join(archive.getnames()))')
days=$(grep '\.csv$' <<< "$names" | sort)
report=/app/reports/unpacked.txt
expect_eq "every file is there and no other" "$(ls -A /app/data/raw 2> /dev/null)" "$names" set
expect_ok "checksums hold" -- bash -c 'cd /app/data/raw && sha256sum --quiet -c SHA256SUMS'
expect_eq "report: days" "$(field "$report" days)" "$(wc -l <<< "$days")" int
expect_eq "report: last_day" "$(field "$report" last_day)" "$(tail -1 <<< "$days" | cut -d . -f 1)" exact
