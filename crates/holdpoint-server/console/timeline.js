// Events of a run become rows that a person reads: turns, what the model said, calls with their waits, decisions, pauses.

import { textOf } from "./conversation.js";

/** @typedef {import("./api-types").EventView} Event */

/**
 * A call as the model asked for it, and what became of it.
 * @typedef {object} CallFacts
 * @property {number} turn
 * @property {number} index
 * @property {string} name
 * @property {unknown} arguments
 * @property {unknown} [edited] What a person made of the arguments.
 * @property {import("./api-types").DecisionView} [decision]
 * @property {string} [decidedAt]
 * @property {string} [deferredAt]
 * @property {string} [startedAt]
 * @property {import("./api-types").ResultView} [result]
 */

/**
 * @typedef {object} Row
 * @property {"start" | "turn" | "said" | "call" | "answer" | "pause" | "resume" | "note" | "end"} kind
 * @property {string} title
 * @property {string} detail
 * @property {string} [state]
 * @property {string} [at]
 * @property {number} [waitMs] How long it waited for a person or a worker.
 * @property {number} [runMs] How long it ran.
 * @property {Event[]} events What it was made of.
 * @property {CallFacts} [call]
 */

/** @type {Record<import("./api-types").Outcome, string>} */
const OUTCOMES = {
    succeeded: "done", failed: "failed", denied: "denied by policy", refused: "refused", expired: "expired", timed_out: "timed out", cancelled: "cancelled", halted: "ended the run", ignored: "ignored",
};
/** @type {Record<import("./api-types").DecisionWord, string>} */
const SAID = { allow: "approved", deny: "refused", answer: "answered in the tool's place", happened: "said that it happened" };

export class Timeline {
    constructor() {
        /** @type {Row[]} */
        this.rows = [];
        /** @type {Map<string, Row>} */
        this.calls = new Map();
        /** @type {Row | null} */
        this.turn = null;
        this.last = 0;
        this.longestMs = 1;
        /** @type {string | null} */
        this.clock = null;
        this.over = false;
    }

    /**
     * Takes one durable event. Says from which row on something changed.
     * @param {Event} event
     * @returns {number}
     */
    take(event) {
        if (event.seq <= this.last) return this.rows.length;
        this.last = event.seq;
        this.clock = event.at;
        const before = this.rows.length;
        const touched = this.tell(event);
        if (touched) {
            touched.events.push(event);
            const index = this.rows.indexOf(touched);
            return index < 0 ? before : Math.min(before, index);
        }
        return before;
    }

    /** @param {Omit<Row, "events">} row @returns {Row} */
    add(row) {
        const whole = { ...row, events: [], at: row.at ?? this.clock ?? undefined };
        this.rows.push(whole);
        return whole;
    }

    /** @param {Event} event @returns {Row | null} the row that the event belongs to */
    tell(event) {
        switch (event.event) {
            case "run_started": {
                const input = event.messages.findLast((message) => message.role === "user");
                return this.add({ kind: "start", title: `Started by ${event.actor?.id ?? "somebody"}`, detail: input ? textOf(input) : "" });
            }
            case "turn_started":
                this.turn = this.add({ kind: "turn", title: `Turn ${event.turn}`, detail: "" });
                return this.turn;
            case "message_completed":
                return this.said(event);
            case "turn_ended":
                return this.turn;
            case "paused":
                return this.add({ kind: "pause", title: "Paused", detail: event.reason === "awaiting_tool_confirmation" ? "until a person answers" : "until results come" });
            case "resumed":
                return this.add({ kind: "resume", title: "Resumed", detail: "" });
            case "done":
                return this.done(event);
            case "failed":
                return this.add({ kind: "end", title: "Failed", detail: `${event.reason}: ${event.detail}`, state: "failed" });
            case "cancelled":
                return this.add({ kind: "end", title: `Cancelled by ${event.actor?.id ?? "somebody"}`, detail: event.reason ?? "", state: "failed" });
            case "retried":
                return this.add({ kind: "resume", title: "Tried again", detail: "Nothing that was settled runs again." });
            case "epoch_started":
                return this.add({ kind: "note", title: "Taken over", detail: "Another process goes on with the run." });
            case "final_answer_asked":
                return this.add({ kind: "note", title: "Asked for a final answer", detail: "" });
            case "authorization_required":
            case "execution_required":
                return this.rows.at(-1) ?? null;
            case "grant_revoked":
            case "context_changed":
            case "imported":
                return this.add({ kind: "note", title: event.event.replaceAll("_", " "), detail: "" });
            default:
                return this.aboutCall(event);
        }
    }

    /** @param {import("./api-types").MessageCompletedEvent} event */
    said(event) {
        if (this.turn) {
            this.turn.detail = `model ${event.latency_us ? `took ${ms(event.latency_us / 1000)}, ` : ""}${event.usage.input} tokens in, ${event.usage.output} out`;
            this.turn.runMs = event.latency_us / 1000;
        }
        const calls = event.message.calls ?? [];
        for (const [index, call] of calls.entries()) this.expect(event.turn, index, call);
        const text = textOf(event.message);
        if (!text) return this.turn;
        const row = { kind: /** @type {const} */ ("said"), title: "Model", detail: text, at: this.clock ?? undefined, events: [] };
        // It was said before it asked for the calls of this turn.
        this.rows.splice(this.rows.length - calls.length, 0, row);
        return row;
    }

    /** @param {number} turn @param {number} index @param {import("./api-types").MessageCallView} call */
    expect(turn, index, call) {
        const row = this.add({ kind: "call", title: call.name, detail: "", state: "asked for", call: { turn, index, name: call.name, arguments: call.arguments } });
        this.calls.set(`${turn}.${index}`, row);
    }

    /** @param {import("./api-types").DoneEvent} event */
    done(event) {
        const waits = event.stop_reason.startsWith("awaiting_");
        if (waits) return this.rows.at(-1) ?? null;
        this.over = true;
        const last = this.rows.at(-1);
        if (last?.kind === "end") return last;
        return this.add({ kind: "end", title: "Finished", detail: event.stop_reason, state: "done" });
    }

    /** @param {Extract<Event, import("./api-types").CallRef>} event @returns {Row | null} */
    aboutCall(event) {
        const row = this.calls.get(`${event.turn}.${event.index}`);
        const call = row?.call;
        if (!row || !call) return this.turn;
        if (event.tool) row.title = event.tool;
        switch (event.event) {
            case "call_decided":
                call.decision = event.decision;
                call.decidedAt = event.at;
                row.at = event.at;
                row.state = event.decision.decide === "confirm" ? "waits for a person" : event.decision.decide === "deny" ? "denied by policy" : row.state;
                row.detail = event.decision.reason ?? event.decision.rule ?? "";
                break;
            case "call_answered":
                return this.answered(event, row, call);
            case "grant_used":
                row.detail = `a grant of ${event.actor?.id ?? "somebody"} answered`;
                break;
            case "tool_started":
                call.startedAt = event.at;
                row.state = "running";
                this.waited(row, event.at);
                break;
            case "call_deferred":
                row.state = "waits for a worker";
                call.deferredAt = event.at;
                break;
            case "task_taken":
                row.state = `worker ${event.worker} has it`;
                call.startedAt = event.since;
                this.waited(row, event.since);
                break;
            case "call_doubted":
                row.state = "in doubt";
                break;
            case "call_requeued":
                row.state = "back in the queue";
                break;
            case "call_expired":
                row.state = "expired";
                break;
            case "tool_ended":
                this.ended(event, row, call);
                break;
            default:
                break;
        }
        return row;
    }

    /** @param {import("./api-types").CallAnsweredEvent} event @param {Row} row @param {CallFacts} call */
    answered(event, row, call) {
        row.events.push(event);
        this.waited(row, event.at);
        if (event.decision === "allow") row.state = "approved";
        const who = event.actor?.id ?? "somebody";
        const answer = this.add({ kind: "answer", title: `${who} ${SAID[event.decision]}${event.arguments ? " with other arguments" : ""}`, detail: event.reason ?? `${row.title}`, state: event.decision, at: event.at });
        if (event.arguments) call.edited = event.arguments;
        // The log has the resume and its answers in one commit. People read them the other way round.
        const resumed = this.rows.at(-2);
        if (resumed?.kind === "resume") this.rows.splice(-2, 2, answer, resumed);
        return answer;
    }

    /** @param {Row} row @param {string} until */
    waited(row, until) {
        const from = row.call?.decidedAt ?? row.call?.deferredAt;
        if (!from || row.waitMs !== undefined) return;
        row.waitMs = Math.max(0, Date.parse(until) - Date.parse(from));
        this.longest(row);
    }

    /** @param {import("./api-types").ToolEndedEvent} event @param {Row} row @param {CallFacts} call */
    ended(event, row, call) {
        call.result = event.result;
        row.state = OUTCOMES[event.outcome];
        if (event.code && event.outcome !== "succeeded") row.state = `${row.state} (${event.code})`;
        if (event.source && event.source !== "tool") row.state += `, from ${event.source === "person" ? "a person" : event.source}`;
        if (event.attempt && event.attempt > 1) row.state += `, attempt ${event.attempt}`;
        row.runMs = event.latency_us / 1000;
        this.longest(row);
    }

    /** @param {Row} row */
    longest(row) {
        this.longestMs = Math.max(this.longestMs, (row.waitMs ?? 0) + (row.runMs ?? 0));
    }
}

/** @param {number} value */
function ms(value) {
    return value < 1 ? `${Math.round(value * 1000)} µs` : value < 1000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(1)} s`;
}
