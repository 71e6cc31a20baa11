#!/bin/sh
# A worker that makes reports, never more than three of an account at once: run beside
# `jeton serve --config concurrency.toml`.
set -eu
API="${API:-http://127.0.0.1:7070}"

call() { # verb, body: prints the answer
    curl -sS -H 'content-type: application/json' -d "$2" "$API/v1/$1"
}
# The value of a text member of JSON.
member() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }

echo "four workers ask for a place"
for worker in 1 2 3 4; do
    answer=$(call reserve '{"rule":"reports","key":"acme"}')
    handle=$(printf '%s' "$answer" | member handle)
    if [ -n "$handle" ]; then
        echo "worker $worker: works"
        handles="${handles:-} $handle"
    else
        echo "worker $worker: told to come back later"
    fi
done

set -- $handles
echo "the first one is still at it"
call extend "{\"handle\":\"$1\"}" >/dev/null
echo "the second one is done"
call cancel "{\"handle\":\"$2\"}" >/dev/null
call cancel "{\"handle\":\"$2\"}" >/dev/null      # saying it twice changes nothing
answer=$(call reserve '{"rule":"reports","key":"acme"}')
[ -n "$(printf '%s' "$answer" | member handle)" ] && echo "worker 4: works"
