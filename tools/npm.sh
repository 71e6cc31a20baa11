#!/bin/sh
# Makes sure that what the tests run from npm is there: target/tools/node_modules.
set -eu
cd "$(dirname "$0")"
home="$PWD/../target/tools"
cmp -s package-lock.json "$home/node_modules/installed" && exit 0
echo "installing what tests need from npm into target/tools" >&2
mkdir -p "$home"
cp package.json package-lock.json "$home"
npm ci --prefix "$home" --ignore-scripts --no-audit --no-fund --silent
cp package-lock.json "$home/node_modules/installed"
