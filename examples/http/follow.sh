#!/usr/bin/env bash
# Follows a run over a connection that breaks, and answers what it asks: nothing is missed, and nothing comes twice. Needs
# curl, python3, and a server: `holdpoint serve`.
#
#   HOLDPOINT_URL=http://127.0.0.1:7411 HOLDPOINT_TOKEN=... examples/http/follow.sh
set -euo pipefail
url="${HOLDPOINT_URL:-http://127.0.0.1:7411}"
agent="${HOLDPOINT_AGENT:-sample}"

# ask PATH [CURL OPTIONS]: the token goes through a pipe, so that no list of processes shows it.
ask() {
    curl -sSN "$url$1" "${@:2}" -H 'content-type: application/json' \
        -H @<(printf '%s\n' "${HOLDPOINT_TOKEN:+authorization: Bearer $HOLDPOINT_TOKEN}")
}

# told: number, name and run of each event on standard input, and of a question the answer that allows it as it was shown.
# What has no number is live text, and not kept.
told() {
    python3 -c 'import json, sys
for line in sys.stdin:
    event = json.loads(line[6:]) if line.startswith("data: ") else {}
    if "seq" not in event:
        continue
    decisions = [{"call_id": call["id"], "decision": "allow", "digest": call["digest"]} for call in event.get("pending", [])]
    answer = {"continuation_id": event.get("continuation_id"), "decisions": decisions}
    print(event["seq"], event["event"], event["run_id"], json.dumps(answer), flush=True)'
}

# The answer to a start may be its events. The connection breaks after the third; the run goes on.
body="{\"agent\": \"$agent\", \"input\": \"My kettle from order A-42 arrived broken.\"}"
begun="$(ask /v1/runs -H 'accept: text/event-stream' -d "$body" 2>/dev/null | told 2>/dev/null | head -n 3 || true)"
read -r last _ run _ <<<"$(tail -n 1 <<<"$begun")"
cut -d ' ' -f 1,2 <<<"$begun"
echo "the connection broke"

# Any server of the same store goes on after the last number that was seen. The stream stays open while the run waits, and
# ends when it is over.
ask "/v1/runs/$run/events" -H 'accept: text/event-stream' -H "last-event-id: $last" | told |
    while read -r number name _ answer; do
        echo "$number $name"
        [ "$name" != authorization_required ] || ask "/v1/runs/$run/answers" -d "$answer" >/dev/null
    done
