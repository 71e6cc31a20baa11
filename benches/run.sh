#!/bin/sh
# Jeton against its peers in one run: in this process, on Redis, as a proxy, and for Redis clients. Prints tables with ratios.
set -eu
cd "$(dirname "$0")"
cargo run --release --quiet --bin in_process
cargo run --release --quiet --bin disk
cargo run --release --quiet --bin redis
sh relay.sh
sh resp.sh
sh rls.sh
