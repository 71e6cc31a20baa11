#!/bin/sh
# Decisions for Redis clients: redis-benchmark, 50 clients, at plain Redis (INCR), at Jeton (CL.THROTTLE, THROTTLE), and
# at redis-cell where REDIS_CELL names its module. In turn, with and without pipelines, in one run; prints medians of
# requests per second and of the server's CPU per request, with ratios to INCR.
# Usage: resp.sh [REQUESTS] [ROUNDS] [KEYS]
set -eu
requests="${1:-400000}"
rounds="${2:-5}"
keys="${3:-1000000}"
root="$(cd "$(dirname "$0")/.." && pwd)"
dir="$(mktemp -d)"
pids=""
trap 'kill $pids 2>/dev/null || true; rm -rf "$dir"' EXIT INT TERM

cd "$root"
cargo build --release --quiet --bin jeton
target="${CARGO_TARGET_DIR:-$root/target}/release"

redis-server --port 19811 --save "" --appendonly no --daemonize no >/dev/null & redis=$!; pids="$pids $redis"
printf '[resp]\nlisten = "127.0.0.1:19812"\n' >"$dir/jeton.toml"
JETON_LOG=error "$target/jeton" serve --config "$dir/jeton.toml" >/dev/null & jeton=$!; pids="$pids $jeton"
cell=""
if [ -n "${REDIS_CELL:-}" ]; then
    redis-server --port 19813 --save "" --appendonly no --loadmodule "$REDIS_CELL" >/dev/null & cell=$!; pids="$pids $cell"
fi
sleep 1

ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
measure() { # name, port, pid, pipeline, words...
    name="$1"; port="$2"; pid="$3"; pipeline="$4"; shift 4
    [ "$pipeline" = 1 ] && count=$((requests / 2)) || count=$((requests * 4))
    before="$(ticks "$pid")"
    redis-benchmark -p "$port" -q -c 50 -P "$pipeline" -n "$count" -r "$keys" "$@" 2>/dev/null | tr '\r' '\n' >"$dir/told"
    rate="$(sed -n 's/.*: \([0-9.]*\) requests per second.*/\1/p' "$dir/told" | tail -n 1)"
    if [ -z "$rate" ]; then
        echo "$name gave no figure:" >&2
        cat "$dir/told" >&2
        exit 1
    fi
    after="$(ticks "$pid")"
    echo "$name $pipeline $rate $(((after - before) * 1000000 / $(getconf CLK_TCK))) $count" >>"$dir/rows"
}
quota="1000000 100 60"
for round in $(seq 0 "$rounds"); do
    [ "$round" = 1 ] && rm -f "$dir/rows" # round 0 warms up
    for pipeline in 1 32; do
        measure redis-INCR 19811 "$redis" "$pipeline" INCR key:__rand_int__
        # shellcheck disable=SC2086 # three words
        measure jeton-CL.THROTTLE 19812 "$jeton" "$pipeline" CL.THROTTLE key:__rand_int__ $quota
        # shellcheck disable=SC2086
        measure jeton-THROTTLE 19812 "$jeton" "$pipeline" THROTTLE key:__rand_int__ $quota
        if [ -n "$cell" ]; then
            # shellcheck disable=SC2086
            measure redis-cell 19813 "$cell" "$pipeline" CL.THROTTLE key:__rand_int__ $quota
        fi
    done
done

echo "| server, command | pipeline | requests/s | CPU us per request | requests against INCR | CPU against INCR |"
echo "|---|---|---|---|---|---|"
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
rate_of() { awk -v n="$1" -v p="$2" '$1 == n && $2 == p { print $3 }' "$dir/rows" | median; }
cpu_of() { awk -v n="$1" -v p="$2" '$1 == n && $2 == p { print $4 / $5 }' "$dir/rows" | median; }
for pipeline in 1 32; do
    for name in redis-INCR jeton-CL.THROTTLE jeton-THROTTLE ${cell:+redis-cell}; do
        awk -v n="$name" -v p="$pipeline" -v r="$(rate_of "$name" "$pipeline")" -v c="$(cpu_of "$name" "$pipeline")" \
            -v br="$(rate_of redis-INCR "$pipeline")" -v bc="$(cpu_of redis-INCR "$pipeline")" \
            'BEGIN { printf "| %s | %d | %d | %.2f | %.2fx | %.2fx |\n", n, p, r, c, r / br, c / bc }'
    done
done
