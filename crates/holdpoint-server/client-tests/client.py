"""A program that uses the package which openapi-python-client makes of the server's document: it starts a run, approves its
payment, and reads its events. A field without a type would not pass mypy here."""

import os
from typing import TypeVar

from holdpoint_client import AuthenticatedClient
from holdpoint_client.api.answers import answer_run
from holdpoint_client.api.approvals import list_approvals
from holdpoint_client.api.runs import follow_run, start_run
from holdpoint_client.models import (
    AnswersBody,
    ApprovalPage,
    CallAnsweredEvent,
    DecisionBody,
    DecisionWord,
    DoneEvent,
    EventPage,
    RunBody,
    RunStatus,
    RunView,
    ToolEndedEvent,
)

T = TypeVar("T")


def expect(kind: type[T], value: object) -> T:
    if not isinstance(value, kind):
        raise SystemExit(f"not a {kind.__name__}: {value}")
    return value


def main() -> None:
    client = AuthenticatedClient(
        base_url=os.environ["HOLDPOINT_URL"],
        token=os.environ["HOLDPOINT_TOKEN"],
        headers={"Accept": "application/json"},
    )
    body = RunBody(agent="support", input_="refund order 42")
    run = expect(RunView, start_run.sync(client=client, body=body, wait_ms=10_000))
    pending = run.pending[0]
    assert pending.reason == "a refund waits for a person", pending.reason

    inbox = expect(ApprovalPage, list_approvals.sync(client=client))
    question = next(approval for approval in inbox.approvals if approval.run_id == run.id)
    assert question.answerable and question.digest == pending.digest

    decision = DecisionBody(
        call_id=pending.id, decision=DecisionWord.ALLOW, digest=pending.digest, reason="checked"
    )
    answers = AnswersBody(continuation_id=run.continuation_id, decisions=[decision])
    over = expect(RunView, answer_run.sync(run.id, client=client, body=answers, wait_ms=10_000))
    assert over.status == RunStatus.FINISHED, over.status

    events = expect(EventPage, follow_run.sync(run.id, client=client)).events
    decisions = [event.decision for event in events if isinstance(event, CallAnsweredEvent)]
    outcomes = [event.outcome for event in events if isinstance(event, ToolEndedEvent)]
    assert decisions == ["allow"] and len(outcomes) == 1, (decisions, outcomes)
    assert isinstance(events[-1], DoneEvent), events[-1]
    print(f"Python: {len(events)} events")


main()
