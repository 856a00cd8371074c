get() { # NAME: the page as a client with nothing but the root certificate sees it
  curl -sS --max-time 10 --cacert /app/pki/root/root.crt --resolve "$1:8443:127.0.0.1" "https://$1:8443/index.html"
}
expect_out "serve is executable" '^yes$' -- bash -c 'test -x /app/bin/serve && echo yes'
expect_port "something listens on 8443" 127.0.0.1 8443
for name in depot.orchard.test mirror.orchard.test; do
  expect_eq "page at $name" "$(get "$name" 2>&1)" "$(cat /app/site/index.html)" exact
done
shown=$(openssl s_client -connect 127.0.0.1:8443 -servername depot.orchard.test < /dev/null 2> /dev/null | openssl x509 -noout -serial 2> /dev/null)
expect_eq "it is the issued certificate" "$shown" "$(openssl x509 -in /app/pki/issued/depot.crt -noout -serial 2> /dev/null)"
