// One run: its timeline, live while it runs; its conversation; what can be done about it.

import { follow, get, may, post } from "./api.js";
import { conversationView, resultView } from "./conversation.js";
import { button, copyButton, el, fill } from "./dom.js";
import { same } from "./json.js";
import { fact } from "./question.js";
import { shortId, statusView } from "./runs.js";
import { problemView, setTitle, showConnection, toast } from "./shell.js";
import { duration, mark, since, when } from "./time.js";
import { Timeline } from "./timeline.js";
import { cut, grouped, inline, rawView, textView, valueView } from "./value.js";
import { VirtualList } from "./virtual.js";

const ROW_HEIGHT = 44;
/** The connection's name in the banner. */
const LINE = "run";
/** How much of what the model is saying right now is shown. */
const LIVE_TEXT_MAX = 4_000;

/**
 * @param {string} id
 * @returns {import("./app.js").Page}
 */
export function runPage(id) {
    return new RunPage(id);
}

class RunPage {
    /** @param {string} id */
    constructor(id) {
        this.id = id;
        this.timeline = new Timeline();
        /** @type {import("./api-types").RunView | null} */
        this.run = null;
        this.chosen = -1;
        /** @type {{ row: import("./timeline.js").Row, state: string } | null} What the side shows, and how it was then. */
        this.beside = null;
        this.dirty = Number.POSITIVE_INFINITY;
        this.drawing = 0;
        this.refreshing = 0;
        this.liveText = "";
        /** @type {ReturnType<typeof follow> | null} */
        this.stream = null;
        this.closed = false;
        this.facts = el("div", { class: "run-facts" }, el("p", { class: "blank" }, "Looking…"));
        this.live = el("p", { class: "live", hidden: true });
        this.side = el("section", { class: "detail", "aria-label": "Details" }, el("p", { class: "blank" }, "Choose a row to see all of it."));
        /** @type {VirtualList<import("./timeline.js").Row>} */
        this.list = new VirtualList({ label: "Timeline", rowHeight: ROW_HEIGHT, render: (row, index) => this.row(row, index) });
        this.list.show(this.timeline.rows);
        this.talk = el("section", { class: "talk-box", hidden: true, "aria-label": "Conversation" });
        this.tabs = el("div", { class: "tabs", role: "group", "aria-label": "View" });
        this.split = el("div", { class: "split run-split" }, el("section", { class: "list", "aria-label": "Timeline" }, this.list.node, this.live), this.side);
        this.node = el("div", { class: "run-page" }, this.facts, this.tabs, this.split, this.talk);
        this.visible = () => (document.hidden ? this.pause() : this.listen());
        document.addEventListener("visibilitychange", this.visible);
        this.drawTabs("timeline");
    }

    open() {
        setTitle(`Run ${shortId(this.id)}`);
        mark("timeline-asked");
        void this.refresh();
        this.listen();
    }

    close() {
        this.closed = true;
        document.removeEventListener("visibilitychange", this.visible);
        cancelAnimationFrame(this.drawing);
        this.pause();
        this.list.close();
    }

    /** Hidden pages leave their connection to others: browsers have few for one server. */
    pause() {
        this.stream?.close();
        this.stream = null;
        showConnection(LINE, "closed");
    }

    listen() {
        if (this.stream || this.closed || this.timeline.over) return;
        this.stream = follow("/v1/runs/{id}/events", { id: this.id, after: this.timeline.last, onEvent: (event) => this.take(event), onState: (state) => this.heard(state), onReset: () => this.restart() });
    }

    /** @param {import("./api.js").StreamState} state */
    heard(state) {
        // A run that cannot be followed because there is none says so itself.
        showConnection(LINE, state === "refused" && !this.run ? "closed" : state);
        if (state === "over") this.draw();
    }

    /** The server knows less of the run than was shown: everything is read anew. */
    restart() {
        this.timeline = new Timeline();
        this.chosen = -1;
        this.beside = null;
        fill(this.side, el("p", { class: "blank" }, "Choose a row to see all of it."));
        this.list.show(this.timeline.rows);
    }

    /** @param {import("./api-types").EventView | import("./api.js").Delta} event */
    take(event) {
        if (event.seq === undefined) this.hear(event);
        else {
            this.dirty = Math.min(this.dirty, this.timeline.take(event));
            if (event.event === "message_completed") this.liveText = "";
            if (["paused", "resumed", "done", "failed", "cancelled", "retried", "turn_started"].includes(event.event)) this.refreshSoon();
            if (event.event === "done" && !event.stop_reason.startsWith("awaiting_")) this.timeline.over = true;
        }
        if (!this.drawing) {
            this.drawing = requestAnimationFrame(() => {
                this.drawing = 0;
                mark("timeline-begun");
                this.draw();
                mark("timeline-drawn");
                if (this.timeline.over) mark("timeline-shown");
            });
        }
    }

    /** What the model says right now, before it is stored. @param {import("./api.js").Delta} event */
    hear(event) {
        if (event.event === "text_delta" || event.event === "thinking_delta") this.liveText = (this.liveText + (event.text ?? "")).slice(-LIVE_TEXT_MAX);
    }

    draw() {
        const atEnd = this.list.node.scrollTop + this.list.node.clientHeight >= this.list.node.scrollHeight - ROW_HEIGHT;
        const first = this.list.items.length === 0;
        this.list.items = this.timeline.rows;
        // Rows may have come before the one that is shown beside.
        if (this.beside) this.chosen = this.timeline.rows.indexOf(this.beside.row);
        this.list.grow(this.dirty);
        this.dirty = Number.POSITIVE_INFINITY;
        if (atEnd && !first && !this.timeline.over) this.list.reveal(this.timeline.rows.length - 1);
        this.live.hidden = !this.liveText;
        if (this.liveText) fill(this.live, el("b", {}, "Model is writing: "), this.liveText);
        // Who reads the side keeps what is open there, unless that row itself has changed.
        if (this.beside && this.beside.state !== stateOf(this.beside.row)) this.drawSide(this.beside.row);
    }

    refreshSoon() {
        clearTimeout(this.refreshing);
        this.refreshing = window.setTimeout(() => void this.refresh(), 60);
    }

    async refresh() {
        try {
            const run = await get("/v1/runs/{id}", { id: this.id });
            const news = !same(this.run, run);
            this.run = run;
            if (!this.closed && news) this.drawFacts();
        } catch (problem) {
            this.run = null;
            if (!this.closed) fill(this.facts, problemView(problem, () => void this.refresh()));
        }
    }

    drawFacts() {
        const { run } = this;
        if (!run) return;
        const focused = this.facts.contains(document.activeElement) ? document.activeElement?.textContent : null;
        const mine = may("read") && may("submit");
        const busy = ["running", "awaiting_tool_confirmation", "awaiting_tool_results"].includes(run.status);
        const waits = run.status === "awaiting_tool_confirmation";
        fill(
            this.facts,
            el("div", { class: "run-top" }, el("h1", {}, `Run of ${run.agent ?? "an agent"}`), statusView(run.status),
                el("div", { class: "row" },
                    busy && mine && button("Cancel the run…", () => void this.cancel(), { class: "danger small" }),
                    run.status === "failed" && mine && button("Try again", () => void this.retry(), { class: "primary small" }))),
            run.text && el("div", { class: "run-text" }, textView(run.text)),
            waits && el("p", { class: "notice" }, "It waits for ", ...run.pending.map((one, index) => [index ? ", " : "", el("a", { href: `#/inbox/${encodeURIComponent(`${run.batch_id}.c${one.index}`)}` }, one.tool)])),
            el("dl", { class: "facts inline" },
                fact("Started by", run.actor ?? "unknown"), fact("Started", since(run.created_at)), fact("Turns", String(run.turn)),
                fact("Tokens", `${grouped(run.usage.input)} in, ${grouped(run.usage.output)} out`), fact("Model calls", String(run.model_calls)), fact("Tool runs", String(run.tool_executions)),
                !busy && run.stop_reason && fact("Ended with", run.stop_reason), run.session && fact("Session", run.session),
                run.trace_id && fact("Trace", el("code", {}, run.trace_id), " ", copyButton(run.trace_id, "Copy")), fact("Id", el("code", {}, run.id))),
        );
        if (focused) [...this.facts.querySelectorAll("button")].find((one) => one.textContent === focused)?.focus();
    }

    async cancel() {
        if (!confirm("Cancel this run? Tools that run are told to stop; what they did stays done.")) return;
        await this.act("cancel", "The run is cancelled.");
    }

    async retry() {
        await this.act("retry", "The run goes on.");
        this.timeline.over = false;
        this.pause();
        this.listen();
    }

    /** @param {"cancel" | "retry"} what @param {string} done */
    async act(what, done) {
        try {
            await post(`/v1/runs/{id}/${what}`, undefined, { id: this.id });
            toast(done);
        } catch (problem) {
            toast(problem instanceof Error ? `That did not work: ${problem.message}.` : String(problem));
        }
        await this.refresh();
    }

    /** @param {"timeline" | "talk"} shown */
    drawTabs(shown) {
        const tab = (/** @type {"timeline" | "talk"} */ name, /** @type {string} */ label) => button(label, () => this.drawTabs(name), { "aria-pressed": shown === name ? "true" : "false", class: "tab" });
        fill(this.tabs, tab("timeline", "Timeline"), tab("talk", "Conversation"));
        this.split.hidden = shown !== "timeline";
        this.talk.hidden = shown !== "talk";
        if (shown === "talk") {
            fill(this.talk, el("p", { class: "blank" }, "Looking…"));
            void get("/v1/runs/{id}/messages", { id: this.id }).then((answer) => fill(this.talk, conversationView(answer.messages)), (problem) => fill(this.talk, problemView(problem)));
        }
    }

    /** @param {import("./timeline.js").Row} row @param {number} index */
    row(row, index) {
        const scale = Math.log1p(this.timeline.longestMs);
        const total = (row.waitMs ?? 0) + (row.runMs ?? 0);
        const bar = el("span", { class: "bar", "aria-hidden": "true" });
        if (row.kind === "call" && total > 0) {
            const width = Math.max(2, (Math.log1p(total) / scale) * 100);
            const wait = el("span", { class: "wait" });
            const ran = el("span", { class: "ran" });
            wait.style.width = `${(width * (row.waitMs ?? 0)) / total}%`;
            ran.style.width = `${(width * (row.runMs ?? 0)) / total}%`;
            bar.append(wait, ran);
        }
        const times = [row.waitMs !== undefined && row.waitMs >= 1 ? `waited ${duration(row.waitMs)}` : "", row.kind === "call" && row.runMs !== undefined ? `ran ${duration(row.runMs)}` : ""].filter(Boolean).join(", ");
        const detail = row.kind === "call" ? inline(row.call?.edited ?? row.call?.arguments, 90) : cut(row.detail, 160);
        return el(
            "button",
            { type: "button", class: `event ${row.kind}`, "aria-pressed": this.chosen === index ? "true" : "false", on: { click: () => this.choose(index) } },
            el("span", { class: "event-title" }, row.title),
            el("span", { class: "event-detail" }, detail),
            row.state && row.kind === "call" ? el("span", { class: `state ${/fail|denied|doubt|expired|refused|timed/.test(row.state) ? "bad" : ""}` }, row.state) : null,
            row.kind === "call" ? bar : null,
            el("span", { class: "event-time", title: times || null }, times || (row.kind === "turn" || row.kind === "said" ? "" : row.at ? when(row.at) : "")),
        );
    }

    /** @param {number} index */
    choose(index) {
        const row = this.timeline.rows[index];
        if (!row) return;
        this.chosen = index;
        this.markChosen();
        this.split.classList.add("chosen");
        this.drawSide(row);
    }

    markChosen() {
        for (const [at, node] of this.list.rows) node.querySelector("button")?.setAttribute("aria-pressed", at === this.chosen ? "true" : "false");
    }

    /** Back to the timeline, where one was. */
    back() {
        const index = this.chosen;
        this.chosen = -1;
        this.beside = null;
        this.markChosen();
        this.split.classList.remove("chosen");
        fill(this.side, el("p", { class: "blank" }, "Choose a row to see all of it."));
        this.list.reveal(index);
        this.list.focus(index);
    }

    /** @param {import("./timeline.js").Row} row */
    drawSide(row) {
        const opened = new Set([...this.side.querySelectorAll("details[open] > summary")].map((one) => one.textContent));
        const { scrollTop } = this.side;
        const again = this.beside?.row === row;
        this.beside = { row, state: stateOf(row) };
        const { call } = row;
        fill(
            this.side,
            button("← Timeline", () => this.back(), { class: "back quiet" }),
            el("h2", {}, row.title, " ", row.state ? el("span", { class: "hint" }, row.state) : ""),
            !call && row.detail ? textView(row.detail) : null,
            call && el("dl", { class: "facts small" },
                call.name !== row.title && fact("The model wrote", call.name),
                call.decision && fact("Policy", el("b", {}, call.decision.decide), call.decision.rule ? ` by ${call.decision.rule}` : "", call.decision.reason ? `: ${call.decision.reason}` : ""),
                row.waitMs !== undefined && fact("Waited", duration(row.waitMs)), row.runMs !== undefined && fact("Ran", duration(row.runMs)),
                call.startedAt && fact("Started", when(call.startedAt))),
            call && el("h3", {}, "Arguments"), call && valueView(call.edited ?? call.arguments),
            call?.edited !== undefined && el("h3", {}, "What the model had asked for"), call?.edited !== undefined && valueView(call.arguments),
            call?.result && el("h3", {}, "Result"), call?.result && resultView(call.result),
            ...row.events.map((event) => rawView(event, `Event ${event.seq}: ${event.event}`)),
        );
        if (!again) return;
        for (const box of this.side.querySelectorAll("details")) if (opened.has(box.querySelector("summary")?.textContent ?? "")) box.open = true;
        this.side.scrollTop = scrollTop;
    }

    /** @param {number} by */
    step(by) {
        const next = Math.min(this.timeline.rows.length - 1, Math.max(0, this.chosen + by));
        const focused = this.list.node.contains(document.activeElement);
        this.list.reveal(next);
        this.choose(next);
        if (focused) this.list.focus(next);
    }

    /** @param {KeyboardEvent} event @returns {boolean} */
    key(event) {
        const arrow = event.key.startsWith("Arrow");
        const by = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
        // Who reads the side scrolls with the arrows.
        if (by !== undefined && (!arrow || this.list.node.contains(document.activeElement))) {
            this.step(by);
            return true;
        }
        if (event.key === "Escape" && this.chosen >= 0) {
            this.back();
            return true;
        }
        return false;
    }
}

/** What the side shows of a row changes with this. @param {import("./timeline.js").Row} row */
function stateOf(row) {
    return [row.events.length, row.title, row.state, row.detail, row.waitMs, row.runMs].join("\n");
}
