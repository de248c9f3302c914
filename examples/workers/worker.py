#!/usr/bin/env python3
"""Does deferred tool calls for a Holdpoint server: standard library only.

    HOLDPOINT_URL=http://127.0.0.1:7411 HOLDPOINT_TOKEN=... ./worker.py
"""
import json, os, threading, time, urllib.error, urllib.request

URL = os.environ.get("HOLDPOINT_URL", "http://127.0.0.1:7411")
TOKEN = os.environ.get("HOLDPOINT_TOKEN")
LEASE_MS = 30_000


def post(path, body, timeout=90):
    headers = {"content-type": "application/json"}
    if TOKEN:
        headers["authorization"] = "Bearer " + TOKEN
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        return json.loads(answer.read() or b"null")


def inspect(arguments, key):
    """The tool itself. `key` is the same over all attempts: give it to whoever could do something twice."""
    return {"text": f"article {arguments['article']}: the lid is cracked (looked at under {key[:8]})"}


TOOLS = {"inspect": inspect}


def prolong(task, done):
    while not done.wait(LEASE_MS / 3000):
        try:
            post(f"/v1/tasks/{task['id']}/heartbeat", {"lease": task["lease"], "lease_ms": LEASE_MS})
        except urllib.error.URLError:
            pass  # The next one may get through; if the lease is lost, the result is refused.


def perform(task):
    done = threading.Event()
    threading.Thread(target=prolong, args=(task, done), daemon=True).start()
    try:
        result = TOOLS[task["executed_name"]](task["arguments"], task["idempotency_key"])
    except Exception as error:
        result = {"error": str(error)}
    finally:
        done.set()
    post(f"/v1/tasks/{task['id']}/complete", {"lease": task["lease"], **result})
    print("done:", task["executed_name"], task["id"], flush=True)


while True:
    # Waits at the server until there is something to do.
    wanted = {"tools": list(TOOLS), "max": 1, "lease_ms": LEASE_MS, "wait_ms": 20_000, "worker": "worker.py"}
    try:
        for leased in post("/v1/tasks/lease", wanted)["tasks"]:
            perform(leased)
    except urllib.error.URLError as error:
        print("goes on after:", error, flush=True)  # The server is away, or the lease was lost.
        time.sleep(1)
