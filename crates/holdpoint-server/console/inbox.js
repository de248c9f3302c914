// The inbox: what waits on the left, the one that is chosen on the right; on a phone one after the other.

import { get, may, session } from "./api.js";
import { el, field, fill, select } from "./dom.js";
import { QuestionPage } from "./question.js";
import { main, problemView, setTitle } from "./shell.js";
import { countdown, mark } from "./time.js";
import { cut, inline } from "./value.js";
import { VirtualList } from "./virtual.js";
import { waiting } from "./waiting.js";

/** @typedef {import("./waiting.js").Question} Question */

const ROW_HEIGHT = 86;

/**
 * @param {string} chosen The id of a question, or nothing.
 * @returns {import("./app.js").Page}
 */
export function inboxPage(chosen) {
    return new Inbox(chosen);
}

class Inbox {
    /** @param {string} chosen */
    constructor(chosen) {
        this.chosen = chosen;
        /** Where the chosen one stood: when it is answered, the next one stands there. */
        this.place = -1;
        this.drawing = 0;
        /** @type {string[]} What came since the last drawing. */
        this.fresh = [];
        /** @type {VirtualList<Question>} */
        this.list = new VirtualList({
            label: "Waiting for you",
            rowHeight: ROW_HEIGHT,
            render: (question) => this.row(question),
            onNearEnd: () => void waiting.more(),
        });
        this.note = el("p", { class: "list-note", role: "status" });
        this.detail = el("section", { class: "detail", "aria-label": "Question" });
        /** @type {QuestionPage | null} */
        this.question = null;
        this.changed = (/** @type {Event} */ event) => this.draw(/** @type {CustomEvent<Question | null>} */ (event).detail);
        waiting.addEventListener("change", this.changed);
        this.agents = el("div", { class: "inbox-filter", hidden: true });
        this.asked = false;
        const left = el("section", { class: "list", "aria-labelledby": "inbox-title" }, el("div", { class: "list-head" }, el("h1", { id: "inbox-title" }, "Inbox"), this.note, this.agents), this.list.node);
        this.node = el("div", { class: `split ${chosen ? "chosen" : ""}` }, left, this.detail);
    }

    /** Whose questions; not asked where there is only one agent. What waits comes first. */
    filter() {
        if (this.asked) return;
        this.asked = true;
        void get("/v1/agents").then(({ agents }) => {
            const names = agents.map((agent) => agent.name);
            const choice = select([["", "every agent"], ...names.map((name) => /** @type {[string, string]} */ ([name, name]))], waiting.agent);
            choice.addEventListener("change", () => waiting.only(choice.value));
            fill(this.agents, field("Agent", choice));
            this.agents.hidden = names.length < 2;
        }, () => null);
    }

    open() {
        setTitle("Inbox");
        waiting.open();
        this.drawList();
        this.choose(this.chosen, false);
    }

    /** @param {string} id @returns {boolean} */
    go(id) {
        this.choose(id, true);
        return true;
    }

    /** @param {string} id @param {boolean} focus */
    choose(id, focus) {
        this.question?.close();
        this.question = null;
        this.chosen = id;
        this.node.classList.toggle("chosen", Boolean(id));
        if (!id) {
            const text = waiting.sorted.length ? "Choose a question on the left. j and k go through them." : "";
            fill(this.detail, el("p", { class: "blank" }, text));
            setTitle("Inbox");
        } else {
            this.question = new QuestionPage(id);
            fill(this.detail, this.question.node);
            if (focus) this.question.focus();
        }
        this.mark();
        this.placed();
    }

    /** Remembers where the chosen one stands, as long as it stands there. */
    placed() {
        const place = waiting.sorted.findIndex((question) => question.id === this.chosen);
        if (place >= 0) this.place = place;
    }

    /** @param {Question | null} changed */
    draw(changed) {
        if (changed && changed.id === this.chosen) this.question?.changed(changed);
        // The whole list was read anew: what is open may have changed too.
        if (!changed && waiting.loaded) this.question?.recheck();
        if (changed?.status === "pending") this.fresh.push(changed.id);
        // A thousand changes at once are one drawing.
        this.drawing ||= requestAnimationFrame(() => {
            this.drawing = 0;
            this.drawList();
        });
    }

    drawList() {
        const { sorted, loaded } = waiting;
        const position = this.list.node.scrollTop;
        const focused = document.activeElement?.getAttribute("data-id");
        this.list.show(sorted, (question) => question.id === focused);
        this.list.node.scrollTop = position;
        fill(this.note, this.noteText());
        if (!this.chosen) this.choose("", false);
        this.mark();
        this.placed();
        if (loaded) {
            mark("inbox-shown");
            this.filter();
        }
        for (const id of this.fresh) mark(`question ${id}`);
        this.fresh = [];
    }

    /** What there is to say about the list. Nothing waits only where everything was looked at. */
    noteText() {
        const { sorted, next, problem, loaded, stuck } = waiting;
        if (problem) return problemView(problem, () => void waiting.load());
        if (!may("read", "approve")) return "Your token may not see questions: it needs the role approve or read.";
        if (!loaded || (!sorted.length && next)) return "Looking…";
        if (!sorted.length) return waiting.agent ? `Nothing of ${waiting.agent} waits for ${session.who?.name ?? "you"}.` : `Nothing waits for ${session.who?.name ?? "you"}.`;
        return `${sorted.length}${next ? " and more" : ""} waiting, the earliest deadline first${stuck ? `. The others could not be read: ${stuck.message}. They are asked for again soon.` : ""}`;
    }

    mark() {
        for (const row of this.list.rows.values()) {
            const link = row.querySelector("a");
            if (link?.dataset.id === this.chosen) link.setAttribute("aria-current", "true");
            else link?.removeAttribute("aria-current");
        }
    }

    /** @param {Question} question */
    row(question) {
        const doubt = question.kind !== "permission";
        const asks = question.kind === "input" ? question.doubt?.asks?.message : null;
        const quorum = question.quorum > 1 ? `${question.answers?.length ?? 0} of ${question.quorum} ${doubt ? "answers" : "approvals"}` : "";
        return el(
            "a",
            { class: `row-link ${doubt ? "doubt" : ""}`, href: `#/inbox/${encodeURIComponent(question.id)}`, "data-id": question.id, "aria-current": question.id === this.chosen ? "true" : null, on: { click: () => this.clicked(question.id) } },
            el("span", { class: "row-top" }, el("b", { class: "tool" }, question.tool), countdown(question.deadline)),
            el("span", { class: "row-args" }, inline(question.arguments)),
            el("span", { class: "row-why" },
                el("span", { class: "row-reason" }, doubt ? el("b", {}, asks ? "Asks you: " : "In doubt: ") : "", cut(String(asks ?? question.reason ?? "no reason given"), 140)),
                quorum && el("span", { class: "tag" }, quorum), !question.answerable && el("span", { class: "tag" }, "not yours")),
        );
    }

    /** The address of the one that is shown already changes nothing: then the focus at least goes there. @param {string} id */
    clicked(id) {
        if (id === this.chosen) setTimeout(() => this.question?.focus());
    }

    /** @param {string} id */
    focusRow(id) {
        const index = waiting.sorted.findIndex((question) => question.id === id);
        if (index < 0) return;
        this.list.reveal(index);
        this.list.focus(index);
    }

    /** The one that comes so many after another; where that one is gone, the next stands in its place. @param {string} id @param {number} by */
    beside(id, by) {
        const { sorted } = waiting;
        const index = sorted.findIndex((question) => question.id === id);
        const target = index >= 0 ? index + by : by > 0 ? Math.max(0, this.place) + by - 1 : this.place + by;
        return sorted[Math.min(sorted.length - 1, Math.max(0, target))];
    }

    /** Opens the one that comes so many after the open one. @param {number} by */
    step(by) {
        const target = this.beside(this.chosen, by);
        if (!target) return;
        this.place = waiting.sorted.indexOf(target);
        this.list.reveal(this.place);
        location.hash = `#/inbox/${encodeURIComponent(target.id)}`;
    }

    /** Goes through the list without opening anything; only where the list has the focus. @param {number} by */
    walk(by) {
        const id = this.list.node.contains(document.activeElement) ? document.activeElement?.getAttribute("data-id") : null;
        const target = id && this.beside(id, by);
        if (target) this.focusRow(target.id);
        return Boolean(target);
    }

    /** @param {KeyboardEvent} event @returns {boolean} */
    key(event) {
        switch (event.key) {
            case "j":
                this.step(1);
                return true;
            case "k":
                this.step(-1);
                return true;
            // Who reads a question scrolls with these: another one must not come in its place.
            case "ArrowDown":
                return this.walk(1);
            case "ArrowUp":
                return this.walk(-1);
            case "Escape":
                if (this.question?.escape()) return true;
                if (this.chosen) {
                    const id = this.chosen;
                    location.hash = "#/inbox";
                    setTimeout(() => this.focusRow(id));
                    return true;
                }
                return false;
            default:
                return this.question?.key(event) ?? false;
        }
    }

    close() {
        cancelAnimationFrame(this.drawing);
        waiting.removeEventListener("change", this.changed);
        this.question?.close();
        this.list.close();
        main.classList.remove("wide");
    }
}

