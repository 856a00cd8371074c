#!/bin/bash
# seal.sh seal|open IN OUT: encrypt or decrypt a key with the phrase in phrase.txt.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/seal.conf"
case $1 in
  seal)
    openssl enc -aes-256-cbc -salt -pbkdf2 -md "$DIGEST" -iter "$ROUNDS" -pass "file:$here/phrase.txt" -in "$2" -out "$3" &&
      echo "$(date -u +%F) sealed $(basename "$3") digest=$DIGEST rounds=$ROUNDS" >> "$here/seal.log"
    ;;
  open) openssl enc -d -aes-256-cbc -pbkdf2 -md "$DIGEST" -iter "$ROUNDS" -pass "file:$here/phrase.txt" -in "$2" -out "$3" ;;
  *) echo "usage: seal.sh seal|open IN OUT" >&2; exit 2 ;;
esac
