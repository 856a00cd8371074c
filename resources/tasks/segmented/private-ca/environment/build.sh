#!/bin/bash
# Builds the authority as it was left: root, issuing authority with records, a certificate in use, requests, the sealed key.
set -e
# "openssl req" wants its default configuration to exist; an empty one does.
[ -e /etc/ssl/openssl.cnf ] || : > /etc/ssl/openssl.cnf
cd /app/pki
mkdir -p root issuing/newcerts issuing/private requests
root=$(mktemp -d)
ec() { openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1"; }

ec "$root/root.key"
printf '[req]\ndistinguished_name = dn\n[dn]\n[ca]\nbasicConstraints = critical, CA:TRUE\nkeyUsage = critical, keyCertSign, cRLSign\nsubjectKeyIdentifier = hash\n' > "$root/x.cnf"
openssl req -x509 -new -key "$root/root.key" -config "$root/x.cnf" -extensions ca -subj "/O=Orchard/CN=Orchard Root" -days 7300 -out root/root.crt

ec issuing/private/issuing.key
openssl req -new -key issuing/private/issuing.key -config "$root/x.cnf" -subj "/O=Orchard/CN=Orchard Issuing 2" -out "$root/issuing.csr"
openssl x509 -req -in "$root/issuing.csr" -CA root/root.crt -CAkey "$root/root.key" -set_serial 0x51 -days 3650 \
  -extfile "$root/x.cnf" -extensions ca -out issuing/issuing.crt

: > issuing/index.txt
echo "unique_subject = yes" > issuing/index.txt.attr
echo 3A07 > issuing/serial
echo 0B > issuing/crlnumber
request() { # NAME ALTERNATIVE-NAMES
  openssl req -new -key "requests/$1.key" -config "$root/x.cnf" -subj "/O=Orchard/CN=$1.orchard.test" \
    -addext "subjectAltName = $2" -out "requests/$1.csr"
}
for name in mail depot wiki; do
  ec "requests/$name.key"
  request "$name" "DNS:$name.orchard.test"
  openssl ca -batch -notext -config issuing/openssl.cnf -in "requests/$name.csr" -out "$root/$name.crt"
done
# The request to be answered has a new key and one more name.
ec requests/depot.key
request depot "DNS:depot.orchard.test, DNS:mirror.orchard.test"

# Sealed under settings that were changed afterwards.
echo "plum-$(printf '%s' orchard | sha256sum | cut -c 1-12)" > issuing/private/phrase.txt
printf 'DIGEST=sha1\nROUNDS=23456\n' > issuing/private/seal.conf
bash issuing/private/seal.sh seal issuing/private/issuing.key issuing/private/issuing.key.sealed
sed -i 's/^[0-9-]*/2022-03-14/' issuing/private/seal.log
printf 'DIGEST=sha256\nROUNDS=200000\n' > issuing/private/seal.conf
echo "2023-01-09 settings raised for the next sealing" >> issuing/private/seal.log
rm -r issuing/private/issuing.key "$root"
chmod 700 issuing/private
mkdir -p /app/site
echo "Orchard depot" > /app/site/index.html
