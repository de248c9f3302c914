// A program that uses the types which openapi-typescript makes of the server's document: it starts a run, approves its payment,
// and reads its events. A field without a type would not compile here.

import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

declare const process: { env: Record<string, string | undefined> };

type Event = components["schemas"]["EventView"];

function need<T>(value: T | undefined | null, what: string): T {
    if (value === undefined || value === null) throw new Error(`there is no ${what}`);
    return value;
}

/** An answer that the server could also give as a stream of events. */
function whole<T>(answer: { data?: T | string; error?: unknown }): T {
    if (typeof answer.data === "string") throw new Error("a stream");
    return need(answer.data, `answer: ${JSON.stringify(answer.error)}`);
}

/** What a person reads of an event: every kind has its own fields. */
function told(event: Event): string {
    switch (event.event) {
        case "tool_ended":
            return `${event.tool ?? "?"}: ${event.outcome} after ${event.latency_us} us`;
        case "call_answered":
            return `${event.decision} by ${event.actor?.id ?? "?"}`;
        case "message_completed":
            return `${event.message.role} used ${event.usage.total} tokens`;
        case "done":
            return event.stop_reason;
        default:
            return event.at;
    }
}

const client = createClient<paths>({
    baseUrl: need(process.env["HOLDPOINT_URL"], "HOLDPOINT_URL"),
    headers: { accept: "application/json", authorization: `Bearer ${need(process.env["HOLDPOINT_TOKEN"], "HOLDPOINT_TOKEN")}` },
});

const started = await client.POST("/v1/runs", {
    params: { query: { wait_ms: 10_000 } },
    body: { agent: "support", input: [{ text: "refund order 42" }] },
});
const run = whole(started);
const pending = need(run.pending[0], "pending call");
if (pending.reason !== "a refund waits for a person") throw new Error(`another reason: ${pending.reason}`);
if (JSON.stringify(pending.arguments) !== '{"amount":180}') throw new Error("other arguments");

const inbox = await client.GET("/v1/approvals");
const question = need(inbox.data?.approvals.find((approval) => approval.run_id === run.id), "question");
if (question.digest !== pending.digest || !question.answerable) throw new Error("another question");

const answered = await client.POST("/v1/runs/{id}/answers", {
    params: { path: { id: run.id }, query: { wait_ms: 10_000 } },
    body: {
        continuation_id: need(run.continuation_id, "continuation"),
        decisions: [{ call_id: pending.id, decision: "allow", digest: pending.digest, reason: "checked" }],
    },
});
const over = whole(answered);
if (over.status !== "finished") throw new Error(`the run is ${over.status}`);

const events = whole(await client.GET("/v1/runs/{id}/events", { params: { path: { id: run.id } } }));
const lines = events.events.map(told);
const last = events.events.at(-1);
if (last?.event !== "done" || !lines.includes("allow by desk")) throw new Error(lines.join("\n"));
console.log(`TypeScript: ${lines.length} events`);
