#!/bin/sh
# Makes sure that the named programs are there, installing the Debian packages of the same names.
set -eu
export PATH="$PATH:/usr/sbin:/sbin"
missing=""
for program in "$@"; do
    command -v "$program" >/dev/null 2>&1 || missing="$missing $program"
done
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null 2>&1; then
    echo "these programs are needed and not installed:$missing" >&2
    echo "install them with this system's package manager and try again" >&2
    exit 1
fi
as_root=""
[ "$(id -u)" = 0 ] || as_root="sudo"
echo "installing$missing" >&2
$as_root apt-get update -qq >/dev/null 2>&1 || true
# Tests start their own nginx, caddy and redis-server; those that a package may start as services are left alone.
DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
