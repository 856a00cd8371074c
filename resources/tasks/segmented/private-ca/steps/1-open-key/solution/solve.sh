#!/bin/bash
cd /app/pki/issuing/private
umask 077
bash seal.sh open issuing.key.sealed issuing.key
# The settings were changed after the key was sealed; the log tells those of the day, with another digest and fewer rounds.
# key-step: begin
digest=$(sed -n 's/.*sealed issuing.key.sealed digest=\([^ ]*\).*/\1/p' seal.log | tail -1)
rounds=$(sed -n 's/.*sealed issuing.key.sealed .*rounds=\([0-9]*\).*/\1/p' seal.log | tail -1)
openssl enc -d -aes-256-cbc -pbkdf2 -md "$digest" -iter "$rounds" -pass file:phrase.txt -in issuing.key.sealed -out issuing.key
# key-step: end
bash seal.sh seal issuing.key issuing.key.sealed
