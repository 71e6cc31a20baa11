#!/bin/sh
# Reverse proxies in front of one nginx, in turn: nginx with limit_req, a bare hyper relay, jeton.
# One worker each, wrk with 64 connections. Prints requests per second and CPU per request, medians.
# Usage: relay.sh [SECONDS] [ROUNDS]
set -eu
export PATH="$PATH:/usr/sbin:/sbin"
seconds="${1:-3}"
rounds="${2:-5}"
root="$(cd "$(dirname "$0")/.." && pwd)"
dir="$(mktemp -d)"
pids=""
trap 'kill $pids 2>/dev/null || true; rm -rf "$dir"' EXIT INT TERM

cd "$root"
cargo build --release --quiet --bin jeton --example bare_relay
target="${CARGO_TARGET_DIR:-$root/target}/release"

nginx_conf() { # file, port, body of http
    cat >"$1" <<CONF
daemon off; worker_processes 1; pid $1.pid; error_log /dev/null;
events { worker_connections 4096; }
http { access_log off; keepalive_requests 1000000;
    client_body_temp_path $dir; proxy_temp_path $dir; fastcgi_temp_path $dir; uwsgi_temp_path $dir; scgi_temp_path $dir;
    $3
}
CONF
}
nginx_conf "$dir/up.conf" 19801 'server { listen 127.0.0.1:19801; location / { return 200 "forty-five bytes of an answer, no more, no less"; } }'
nginx_conf "$dir/limit.conf" 19802 'limit_req_zone $binary_remote_addr zone=z:10m rate=1000000r/s;
    upstream u { server 127.0.0.1:19801; keepalive 128; keepalive_requests 1000000; }
    server { listen 127.0.0.1:19802; location / { limit_req zone=z burst=100000 nodelay; proxy_pass http://u; proxy_http_version 1.1; proxy_set_header Connection ""; } }'

nginx -c "$dir/up.conf" & pids="$pids $!"
nginx -c "$dir/limit.conf" & nginx_master=$!; pids="$pids $nginx_master"
TOKIO_WORKER_THREADS=1 "$target/examples/bare_relay" 127.0.0.1:19803 http://127.0.0.1:19801 >/dev/null 2>&1 & bare=$!; pids="$pids $bare"
TOKIO_WORKER_THREADS=1 JETON_LOG=error "$target/jeton" proxy --upstream http://127.0.0.1:19801 --limit 1000000/s \
    --listen 127.0.0.1:19804 >/dev/null 2>&1 & jeton=$!; pids="$pids $jeton"
sleep 1
nginx_worker="$(pgrep -P "$nginx_master" | head -n 1)"

ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
measure() { # name, port, pid
    before="$(ticks "$3")"
    wrk -t1 -c64 -d"${seconds}s" "http://127.0.0.1:$2/" >"$dir/wrk"
    if grep -q "Non-2xx\|Socket errors" "$dir/wrk"; then
        echo "$1 did not answer every request:" >&2
        cat "$dir/wrk" >&2
        exit 1
    fi
    requests="$(awk '/requests in/ { print $1 }' "$dir/wrk")"
    after="$(ticks "$3")"
    echo "$1 $requests $(((after - before) * 1000000 / $(getconf CLK_TCK)))" >>"$dir/rows"
}
for round in $(seq 0 "$rounds"); do
    [ "$round" = 1 ] && rm -f "$dir/rows" # round 0 warms up
    measure "nginx+limit_req" 19802 "$nginx_worker"
    measure "bare-hyper-relay" 19803 "$bare"
    measure "jeton-proxy" 19804 "$jeton"
done

echo "| proxy | requests/s | CPU us per request | against the bare relay |"
echo "|---|---|---|---|"
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
base="$(awk '$1 == "bare-hyper-relay" { print $3 / $2 }' "$dir/rows" | median)"
for name in nginx+limit_req bare-hyper-relay jeton-proxy; do
    rate="$(awk -v n="$name" -v s="$seconds" '$1 == n { print $2 / s }' "$dir/rows" | median)"
    cpu="$(awk -v n="$name" '$1 == n { print $3 / $2 }' "$dir/rows" | median)"
    awk -v n="$name" -v r="$rate" -v c="$cpu" -v b="$base" \
        'BEGIN { printf "| %s | %d | %.1f | %.2fx |\n", n, r, c, c / b }'
done
