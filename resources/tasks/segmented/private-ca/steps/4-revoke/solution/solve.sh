#!/bin/bash
cd /app/pki/issuing
days=""
# The configuration makes lists that are good for one hour.
# key-step: begin
days="-crldays 30"
# key-step: end
openssl ca -config openssl.cnf -gencrl $days -out /app/site/orchard.crl
# event: begin move
/app/bin/serve 9443
# event: end
