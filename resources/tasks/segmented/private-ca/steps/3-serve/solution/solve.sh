#!/bin/bash
mkdir -p /app/bin
chain=""
# A server that sends only its own certificate works for whoever knows the issuing authority; these clients do not.
# key-step: begin
chain="-cert_chain /app/pki/issuing/issuing.crt"
# key-step: end
cat > /app/bin/serve <<EOF
#!/bin/bash
[ -f /run/depot.pid ] && kill "\$(cat /run/depot.pid)" 2> /dev/null
cd /app/site
setsid openssl s_server -WWW -quiet -accept "127.0.0.1:\$1" -cert /app/pki/issued/depot.crt \\
  -key /app/pki/requests/depot.key $chain < /dev/null > /var/log/depot.log 2>&1 &
echo \$! > /run/depot.pid
sleep 0.3
EOF
chmod 755 /app/bin/serve
# event: begin start
/app/bin/serve 8443
# event: end
