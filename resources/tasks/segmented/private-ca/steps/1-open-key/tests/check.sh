private=/app/pki/issuing/private
work=$(mktemp -d)
public() { openssl pkey -in "$1" -pubout 2> /dev/null; }
wanted=$(openssl x509 -in /app/pki/issuing/issuing.crt -noout -pubkey)

expect_file "key is there" "$private/issuing.key"
expect_eq "key belongs to the certificate" "$(public "$private/issuing.key")" "$wanted" exact
expect_eq "only the owner may read it" "$(stat -c %a "$private/issuing.key")" 600 int
bash "$private/seal.sh" open "$private/issuing.key.sealed" "$work/opened" > "$work/log" 2>&1 || true
expect_eq "sealed key opens with the present settings" "$(public "$work/opened")" "$wanted" exact
rm -rf "$work"
