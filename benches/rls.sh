#!/bin/sh
# The Envoy rate limit service, in turn: a bare tonic server that always answers OK, and jeton, which
# decides. Two workers each, h2load with 10 connections of 10 streams and a prepared body: one descriptor
# of one entry. Prints requests per second and CPU per request of both, medians, and the ratio.
# Usage: rls.sh [SECONDS] [ROUNDS]
set -eu
seconds="${1:-3}"
rounds="${2:-5}"
root="$(cd "$(dirname "$0")/.." && pwd)"
dir="$(mktemp -d)"
pids=""
trap 'kill $pids 2>/dev/null || true; rm -rf "$dir"' EXIT INT TERM

command -v h2load >/dev/null || { echo "h2load is needed: apt-get install nghttp2-client" >&2; exit 1; }
cd "$root"
cargo build --release --quiet --bin jeton --example bare_rls
target="${CARGO_TARGET_DIR:-$root/target}/release"

# A frame of gRPC: not compressed, 19 bytes: domain "d", descriptor { entry { "user", "anna" } }.
printf '\000\000\000\000\023\012\001d\022\016\012\014\012\004user\022\004anna' >"$dir/body"
mkdir "$dir/limits"
cat >"$dir/limits/a.yaml" <<YAML
domain: d
descriptors: [{ key: user, rate_limit: { unit: second, requests_per_unit: 1000000000 } }]
YAML
cat >"$dir/jeton.toml" <<TOML
[rls]
listen = "127.0.0.1:19811"
envoy_config = "limits"
[answer]
headers = "none"
TOML
"$target/examples/bare_rls" 127.0.0.1:19810 >/dev/null 2>&1 & bare=$!; pids="$pids $bare"
JETON_LOG=error "$target/jeton" serve --config "$dir/jeton.toml" >/dev/null 2>&1 & jeton=$!; pids="$pids $jeton"
sleep 1

ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
measure() { # name, port, pid
    before="$(ticks "$3")"
    h2load -D "$seconds" -c 10 -m 10 -t 1 -d "$dir/body" -H 'content-type: application/grpc' -H 'te: trailers' \
        "http://127.0.0.1:$2/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit" >"$dir/h2load"
    if ! grep -q ' 0 failed, 0 errored, 0 timeout' "$dir/h2load"; then
        echo "$1 did not answer every request:" >&2
        cat "$dir/h2load" >&2
        exit 1
    fi
    after="$(ticks "$3")"
    requests="$(sed -n 's/^requests: .* total, .* started, \([0-9]*\) done.*/\1/p' "$dir/h2load")"
    rate="$(sed -n 's/^finished in .*, \([0-9.]*\) req\/s.*/\1/p' "$dir/h2load")"
    echo "$1 $rate $(((after - before) * 1000000 / $(getconf CLK_TCK))) $requests" >>"$dir/rows"
}
for round in $(seq 0 "$rounds"); do
    [ "$round" = 1 ] && rm -f "$dir/rows" # round 0 warms up
    measure bare-tonic 19810 "$bare"
    measure jeton-rls 19811 "$jeton"
done

median() { sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }
rate() { awk -v name="$1" '$1 == name { print $2 }' "$dir/rows" | median; }
cpu() { awk -v name="$1" '$1 == name { printf "%.2f\n", $3 / $4 }' "$dir/rows" | median; }
echo "Envoy rate limit service, 10 connections of 10 streams: requests/s, CPU us per request"
for name in bare-tonic jeton-rls; do
    printf '%-12s %10.0f %8s\n' "$name" "$(rate "$name")" "$(cpu "$name")"
done
awk -v ours="$(rate jeton-rls)" -v bare="$(rate bare-tonic)" \
    'BEGIN { printf "jeton-rls is %.2f of bare-tonic (goal: 0.90)\n", ours / bare }'
