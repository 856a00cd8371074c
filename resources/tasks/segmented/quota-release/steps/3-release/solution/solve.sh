#!/bin/bash
mkdir -p /app/bin
annotate=""
attributes=""
# Two things run without a word and give a wrong archive: "describe", which fills in VERSION, passes over plain tags; and
# the tests' data are left out by export-ignore.
# key-step: begin
annotate='-a -m "quota $1"'
attributes="echo 'fixtures -export-ignore' > .git/info/attributes"
# key-step: end
cat > /app/bin/release <<EOF
#!/bin/bash
set -e
cd /app/quota
$attributes
git tag $annotate "v\$1" main
git archive --prefix="quota-\$1/" -o "/app/release/quota-\$1.tar.gz" "v\$1"
EOF
chmod 755 /app/bin/release
/app/bin/release 1.4
