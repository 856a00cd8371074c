pki=/app/pki
crl=/app/site/orchard.crl
get() { # NAME FILE
  curl -sS --max-time 10 --cacert "$pki/root/root.crt" --resolve "$1:9443:127.0.0.1" "https://$1:9443/$2"
}
subject="/O=Orchard/CN=depot.orchard.test"
issued=$(openssl x509 -in "$pki/issued/depot.crt" -noout -serial 2> /dev/null | cut -d = -f 2)
# The certificate before: of the same subject in the authority's own store, not the one issued.
for stored in "$pki"/issuing/newcerts/*.pem; do
  name=$(openssl x509 -in "$stored" -noout -subject -nameopt compat)
  serial=$(openssl x509 -in "$stored" -noout -serial | cut -d = -f 2)
  [ "${name#subject=}" = "$subject" ] && [ "$serial" != "$issued" ] && before=$stored
done
ends=$(openssl crl -in "$crl" -noout -nextupdate 2> /dev/null | cut -d = -f 2)
hours=$((($(date -d "${ends:-now}" +%s) - $(date +%s)) / 3600))

expect_file "list is there" "$crl"
expect_out "list is of the issuing authority" 'verify OK' -- openssl crl -in "$crl" -noout -CAfile "$pki/issuing/issuing.crt"
expect_fail "superseded certificate is refused" 'certificate revoked' -- \
  openssl verify -crl_check -CAfile "$pki/root/root.crt" -untrusted "$pki/issuing/issuing.crt" -CRLfile "$crl" "$before"
expect_ok "issued certificate is accepted" -- \
  openssl verify -crl_check -CAfile "$pki/root/root.crt" -untrusted "$pki/issuing/issuing.crt" -CRLfile "$crl" "$pki/issued/depot.crt"
# An hour less than a week, for the time between making the list and this check.
if [ "$hours" -ge $((7 * 24 - 1)) ]; then
  pass "list is good for a week"
else
  fail "list is good for a week" "it ends $ends"
fi
for name in depot.orchard.test mirror.orchard.test; do
  expect_eq "page at $name" "$(get "$name" index.html 2>&1)" "$(cat /app/site/index.html)" exact
done
expect_eq "list is given out" "$(get depot.orchard.test orchard.crl 2>&1)" "$(cat "$crl" 2> /dev/null)" exact
expect_fail "nothing listens on 8443" 'refused|connect' -- bash -c 'exec 3<> /dev/tcp/127.0.0.1/8443'
