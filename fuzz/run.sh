#!/bin/sh
# Every fuzz target for so many seconds each: fuzz/run.sh [SECONDS]. Needs a nightly toolchain.
set -eu
cd "$(dirname "$0")"
seconds="${1:-60}"
command -v cargo-fuzz >/dev/null 2>&1 || cargo install --locked --quiet cargo-fuzz
for target in $(sed -n 's/^name = "\([a-z]*\)"$/\1/p' Cargo.toml); do
    echo "== $target, ${seconds} s"
    cargo +nightly fuzz run --fuzz-dir . "$target" -- -max_total_time="$seconds" -print_final_stats=1
done
