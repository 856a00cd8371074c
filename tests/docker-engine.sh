#!/usr/bin/env bash
# Starts a Docker engine on a Debian machine where none answers, and gives it the one base image the tests need.
#
#   tests/docker-engine.sh          start (does nothing where an engine and the image are there)
#   tests/docker-engine.sh stop     stop the engine this script started
#
# Needs root. TERMDEPTH_DOCKER_ROOT (default /var/lib/termdepth-docker) holds the engine's data and log.
# No registry is needed: the image is made with debootstrap from the package mirror this machine already uses.
set -euo pipefail

root=${TERMDEPTH_DOCKER_ROOT:-/var/lib/termdepth-docker}
image=debian:bookworm-slim
packages=tmux,python3,ca-certificates,openssl,procps,curl,git,make # what the bundled tasks use
pidfile=$root/dockerd.pid
say() { printf 'docker-engine: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
answers() { docker version >/dev/null 2>&1; }

install_missing() {
  local missing=()
  command -v dockerd >/dev/null || missing+=(docker.io)
  command -v docker >/dev/null || missing+=(docker.io)
  command -v debootstrap >/dev/null || missing+=(debootstrap)
  [ ${#missing[@]} -eq 0 ] && return
  command -v apt-get >/dev/null || die "this machine has no apt-get: install Docker yourself"
  say "installing ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

start_engine() {
  answers && return
  mkdir -p "$root"
  say "starting dockerd in $root"
  # No bridge and no iptables: both need kernel modules that small machines lack, and no test wants a network.
  setsid dockerd --data-root "$root/data" --exec-root "$root/exec" --pidfile "$pidfile" --iptables=false --bridge=none \
    --storage-driver=overlay2 </dev/null >"$root/dockerd.log" 2>&1 &
  for _ in $(seq 150); do
    answers && return
    sleep 0.2
  done
  tail -n 20 "$root/dockerd.log" >&2
  die "dockerd did not answer within 30 s"
}

package_mirror() {
  local sources=/etc/apt/sources.list.d/debian.sources mirror=
  [ -r "$sources" ] && mirror=$(awk '$1 == "URIs:" {print $2; exit}' "$sources")
  if [ -z "$mirror" ] && [ -r /etc/apt/sources.list ]; then
    mirror=$(awk '$1 == "deb" {for (i = 2; i <= NF; i++) if ($i ~ /^https?:/) {print $i; exit}}' /etc/apt/sources.list)
  fi
  [ -n "$mirror" ] || die "no package mirror in the apt sources"
  printf '%s' "$mirror"
}

has_image() {
  [ "$(docker image inspect --format '{{index .Config.Labels "termdepth.packages"}}' "$image" 2>/dev/null)" = "$packages" ]
}

make_image() {
  has_image && return
  local work
  work=$(mktemp -d "$root/bootstrap.XXXXXX")
  # shellcheck disable=SC2064  # expanded now on purpose: work is local
  trap "rm -rf -- '$work'" EXIT
  say "making $image with debootstrap (about a minute)"
  debootstrap --variant=minbase --include="$packages" bookworm \
    "$work" "$(package_mirror)" >"$root/debootstrap.log" 2>&1 || { tail -n 20 "$root/debootstrap.log" >&2; die "debootstrap failed"; }
  rm -rf "$work"/var/cache/apt/archives/*.deb
  tar -C "$work" -c . | docker import --change 'CMD ["bash"]' --change "LABEL termdepth.packages=$packages" - "$image" >/dev/null
}

stop_engine() {
  [ -s "$pidfile" ] || return 0
  local pid
  pid=$(cat "$pidfile")
  kill "$pid" 2>/dev/null || return 0
  for _ in $(seq 100); do
    kill -0 "$pid" 2>/dev/null || return 0
    sleep 0.1
  done
  die "dockerd ($pid) does not end"
}

case ${1:-start} in
  start)
    if answers && has_image; then exit 0; fi
    [ "$(id -u)" = 0 ] || die "needs root"
    mkdir -p "$root"
    install_missing
    start_engine
    make_image
    say "ready: $(docker version --format '{{.Server.Version}}'), $image"
    ;;
  stop) stop_engine ;;
  *) die "usage: $0 [start|stop]" ;;
esac
