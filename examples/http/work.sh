#!/usr/bin/env bash
# Does one call of the tool `inspect` by hand, as a worker would: takes it, prolongs the lease, brings the result. Needs curl,
# python3, and a server with `examples/config`; the token is the one of the worker (`BENCH_TOKEN`).
#
#   HOLDPOINT_URL=http://127.0.0.1:7411 HOLDPOINT_TOKEN=... examples/http/work.sh
set -euo pipefail
url="${HOLDPOINT_URL:-http://127.0.0.1:7411}"

# post PATH BODY [CURL OPTIONS]: the answer on standard output. The token goes through a pipe, so that no list of processes
# shows it.
post() {
    curl -sS "$url$1" -d "$2" "${@:3}" -H 'content-type: application/json' \
        -H @<(printf '%s\n' "${HOLDPOINT_TOKEN:+authorization: Bearer $HOLDPOINT_TOKEN}")
}

# field NAME...: a field of the JSON on standard input, as in `field tasks 0 lease`.
field() {
    python3 -c 'import functools, json, sys
step = lambda value, name: value[int(name)] if isinstance(value, list) else value[name]
found = functools.reduce(step, sys.argv[1:], json.load(sys.stdin))
print(found if isinstance(found, str) else json.dumps(found))' "$@"
}

# It waits at the server until there is something to do.
leased="$(post /v1/tasks/lease '{"tools": ["inspect"], "lease_ms": 30000, "wait_ms": 20000, "worker": "by-hand"}')"
task="$(field tasks 0 id <<<"$leased")"
lease="$(field tasks 0 lease <<<"$leased")"
attempt="$(field tasks 0 attempt <<<"$leased")"
echo "does: $(field tasks 0 executed_name <<<"$leased") $(field tasks 0 arguments <<<"$leased"), attempt $attempt"

# While it works: at a third of the lease, again and again.
held="$(post "/v1/tasks/$task/heartbeat" "{\"lease\": \"$lease\", \"lease_ms\": 60000}")"
echo "held for: $(field lease_ms <<<"$held") ms"

# The key makes it safe to send the result again when no answer came.
result="{\"lease\": \"$lease\", \"text\": \"the lid is cracked\"}"
complete=(post "/v1/tasks/$task/complete" "$result" -H "idempotency-key: $task/$attempt" -w '%{http_code}')
echo "brought: $("${complete[@]}")"
echo "brought again: $("${complete[@]}")"
