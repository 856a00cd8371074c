#!/bin/bash
cd /app/pki/issuing
mkdir -p /app/pki/issued
subject="/O=Orchard/CN=depot.orchard.test"
old=$(awk -F '\t' -v s="$subject" '$1 == "V" && $6 == s {print $4}' index.txt)
# event: begin revoke
openssl ca -config openssl.cnf -revoke "newcerts/$old.pem" -crl_reason superseded
# event: end
# "openssl ca" drops the alternative names of a request without a word unless it is told to copy them.
# key-step: begin
sed -i 's/^default_md .*/&\ncopy_extensions  = copy/' openssl.cnf
# key-step: end
openssl ca -batch -notext -config openssl.cnf -in /app/pki/requests/depot.csr -out /app/pki/issued/depot.crt
