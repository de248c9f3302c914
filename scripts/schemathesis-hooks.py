"""Keeps schemathesis from waiting: a request that may ask the server to wait asks for a moment only."""

import schemathesis

# What the server grants at most; more is refused, and stays as it was drawn.
GRANTED_MS_MAX = 60_000
WAIT_MS_MAX = 200


def shorten(params):
    wait_ms = params.get("wait_ms")
    # A whole number may be written with a point; it stays so.
    whole = type(wait_ms) in (int, float) and wait_ms % 1 == 0
    if whole and WAIT_MS_MAX < wait_ms <= GRANTED_MS_MAX:
        params["wait_ms"] = type(wait_ms)(WAIT_MS_MAX)


@schemathesis.hook
def before_call(context, case, kwargs):
    # A run that was waited for has paused, and its answer says what it waits for: links go on from there.
    if case.method == "POST" and case.path == "/v1/runs" and isinstance(case.query, dict):
        case.query.setdefault("wait_ms", WAIT_MS_MAX)
    for params in (case.query, case.body):
        if isinstance(params, dict):
            shorten(params)
