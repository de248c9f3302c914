#!/usr/bin/env bash
# A run, a question to a person, an answer and a result, over HTTP. Needs curl, python3, and a server: `holdpoint serve`.
#
#   HOLDPOINT_URL=http://127.0.0.1:7411 HOLDPOINT_TOKEN=... examples/http/approve.sh
set -euo pipefail
url="${HOLDPOINT_URL:-http://127.0.0.1:7411}"
agent="${HOLDPOINT_AGENT:-sample}"

# ask METHOD PATH [BODY]: the answer on standard output. The token goes through a pipe, so that no list of processes shows it.
ask() {
    curl -sS -X "$1" "$url$2" ${3:+-d "$3"} ${key:+-H "idempotency-key: $key"} \
        -H 'content-type: application/json' \
        -H @<(printf '%s\n' "${HOLDPOINT_TOKEN:+authorization: Bearer $HOLDPOINT_TOKEN}")
}

# field NAME...: a field of the JSON on standard input, as in `field pending 0 digest`.
field() {
    python3 -c 'import functools, json, sys
step = lambda value, name: value[int(name)] if isinstance(value, list) else value[name]
found = functools.reduce(step, sys.argv[1:], json.load(sys.stdin))
print(found if isinstance(found, str) else json.dumps(found))' "$@"
}

# Sent twice by mistake, it is still one run: both requests have the same key.
key="kettle-$$-$(date +%s)"
body="{\"agent\": \"$agent\", \"input\": \"My kettle from order A-42 arrived broken.\"}"
run="$(ask POST '/v1/runs?wait_ms=20000' "$body")"
again="$(ask POST '/v1/runs?wait_ms=20000' "$body")"
key=
id="$(field id <<<"$run")"
[ "$id" = "$(field id <<<"$again")" ]
echo "status: $(field status <<<"$run")"

# What waits, as the person sees it: not the model's words, but the call that would run.
question="$(ask GET "/v1/approvals?run=$id")"
echo "asks: $(field approvals 0 tool <<<"$question") $(field approvals 0 arguments <<<"$question")"
echo "because: $(field approvals 0 reason <<<"$question")"

# The answer is bound to the digest of what was shown.
answer="{\"continuation_id\": \"$(field approvals 0 continuation_id <<<"$question")\", \"decisions\": [{
    \"call_id\": \"$(field approvals 0 call_id <<<"$question")\", \"decision\": \"allow\",
    \"digest\": \"$(field approvals 0 digest <<<"$question")\"}]}"
done="$(ask POST "/v1/runs/$id/answers?wait_ms=20000" "$answer")"
echo "status: $(field status <<<"$done")"
echo "says: $(field text <<<"$done")"

# A second click changes nothing.
echo "second click: $(ask POST "/v1/runs/$id/answers" "$answer" | field code)"
