pki=/app/pki
crt=$pki/issued/depot.crt
csr=$pki/requests/depot.csr
index=$pki/issuing/index.txt
subject="/O=Orchard/CN=depot.orchard.test"
of_subject() { awk -F '\t' -v s="$subject" -v state="$1" '$1 == state && $6 == s' "$index"; }

expect_file "certificate is there" "$crt"
expect_out "it verifies as a server's" 'OK$' -- \
  openssl verify -purpose sslserver -CAfile "$pki/root/root.crt" -untrusted "$pki/issuing/issuing.crt" "$crt"
expect_eq "it is for the key of the request" "$(openssl x509 -in "$crt" -noout -pubkey 2> /dev/null)" \
  "$(openssl req -in "$csr" -noout -pubkey)" exact
for name in $(openssl req -in "$csr" -noout -text | grep -o 'DNS:[^, ]*' | cut -d : -f 2); do
  expect_out "it is valid for $name" 'does match certificate' -- openssl x509 -in "$crt" -noout -checkhost "$name"
done
serial=$(openssl x509 -in "$crt" -noout -serial 2> /dev/null | cut -d = -f 2)
expect_eq "it is the only valid one in the records" "$(of_subject V | cut -f 4)" "$serial" set
expect_eq "the one before is revoked as superseded" "$(of_subject R | cut -f 3 | cut -d , -f 2 | sort -u)" superseded
expect_eq "the others stay valid" "$(awk -F '\t' '$1 == "V" {print $6}' "$index" | sed 's/.*CN=//')" \
  "$(for csr in "$pki"/requests/*.csr; do openssl req -in "$csr" -noout -subject | sed 's/.*CN = //'; done)" set
