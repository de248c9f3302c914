// A table that grows as one scrolls, and can be gone through with keys.

import { button, el, fill } from "./dom.js";
import { same } from "./json.js";
import { problemView } from "./shell.js";

/** The lines of tables, as opposed to their heads. */
export const LINES = "tr[data-key]";

/**
 * @template T
 */
export class PagedTable {
    /**
     * @param {{ label: string, columns: string[], row: (item: T) => import("./dom.js").Child[], load: (cursor: string | null) => Promise<{ items: T[], next?: string | null }>, none: string, keyOf?: (item: any) => string }} options
     */
    constructor({ label, columns, row, load, none, keyOf = (item) => item.id }) {
        this.row = row;
        this.loadPage = load;
        this.none = none;
        this.keyOf = keyOf;
        this.columns = columns;
        /** @type {string | null} */
        this.next = null;
        /** @type {Map<string, { item: T, line: HTMLElement }>} What is in the table. */
        this.lines = new Map();
        /** How many times the table was begun: an answer to an older beginning is not wanted any more. */
        this.begun = 0;
        this.busy = false;
        this.closed = false;
        this.body = el("tbody", {});
        this.note = el("div", { class: "table-note", role: "status" }, "Looking…");
        const head = el("tr", {}, ...columns.map((name) => el("th", { scope: "col" }, name || el("span", { class: "hidden" }, "Action"))));
        this.table = el("table", { class: "list-table" }, el("caption", { class: "hidden" }, label), el("thead", {}, head), this.body);
        this.node = el("div", { class: "table-box", tabindex: "0", role: "region", "aria-label": label }, this.table, this.note);
        this.watcher = new IntersectionObserver((seen) => {
            if (seen.some((entry) => entry.isIntersecting) && this.next) void this.more();
        });
        this.watcher.observe(this.note);
    }

    /** From the beginning, whatever is on its way: what is wanted may be something else by now. */
    async reload() {
        this.begun += 1;
        await this.read(null);
    }

    /** The same again, unless something is on its way already. */
    async refresh() {
        if (!this.busy) await this.read(null);
    }

    async more() {
        if (!this.busy) await this.read(this.next);
    }

    clear() {
        this.begun += 1;
        this.lines.clear();
        this.body.replaceChildren();
    }

    /** @param {string | null} cursor */
    async read(cursor) {
        const { begun } = this;
        const current = () => !this.closed && begun === this.begun;
        this.busy = true;
        try {
            const page = await this.loadPage(cursor);
            if (!current()) return;
            if (cursor === null) this.show(page.items);
            else this.body.append(...page.items.map((item) => this.line(item)));
            this.next = page.next ?? null;
            this.tellMore();
        } catch (problem) {
            if (current()) fill(this.note, problemView(problem, () => void this.reload()));
        } finally {
            if (begun === this.begun) this.busy = false;
        }
    }

    tellMore() {
        const focused = this.note.contains(document.activeElement);
        const more = this.next ? button("Show more", () => void this.more(), { class: "small" }) : null;
        fill(this.note, this.body.childElementCount ? more : this.none);
        if (focused) more?.focus();
    }

    /** Shows these. A line that says the same stays as it is, with what is open in it and with its focus. @param {T[]} items */
    show(items) {
        const focused = this.focused();
        const before = this.lines;
        this.lines = new Map();
        const lines = items.map((item) => {
            const known = before.get(this.keyOf(item));
            if (!known || !same(known.item, item)) return this.line(item);
            this.lines.set(this.keyOf(item), known);
            return known.line;
        });
        const there = [...this.body.children];
        if (lines.length === there.length && lines.every((line, index) => line === there[index])) return;
        this.body.replaceChildren(...lines);
        if (focused) this.refocus(focused);
    }

    /** Which line has the focus, and which control in it. */
    focused() {
        const here = document.activeElement;
        const line = here?.closest("tr");
        if (!here || !line || !this.body.contains(line)) return null;
        return { key: line.dataset.key ?? "", place: controls(line).indexOf(/** @type {HTMLElement} */ (here)) };
    }

    /** @param {{ key: string, place: number }} focused */
    refocus({ key, place }) {
        const line = this.lines.get(key)?.line;
        if (line) (controls(line)[place] ?? line).focus({ preventScroll: true });
    }

    /** @param {T} item */
    line(item) {
        const key = this.keyOf(item);
        const line = el("tr", { "data-key": key, tabindex: "-1" }, ...this.row(item).map((cell, index) => el("td", { "data-label": this.columns[index] }, cell)));
        this.lines.set(key, { item, line });
        return line;
    }

    /** @param {KeyboardEvent} event */
    key(event) {
        return step(this.body, LINES, event);
    }

    close() {
        this.closed = true;
        this.watcher.disconnect();
    }
}

/** @param {Element} line @returns {HTMLElement[]} */
function controls(line) {
    return [...line.querySelectorAll("a, button, summary, input, select")].map((one) => /** @type {HTMLElement} */ (one));
}

/**
 * Goes through a list with j and k, and with the arrows while it has the focus; Enter opens what is chosen.
 * @param {Element} list
 * @param {string} kind What the list is made of.
 * @param {KeyboardEvent} event
 * @returns {boolean}
 */
export function step(list, kind, event) {
    const lines = [...list.querySelectorAll(kind)].map((one) => /** @type {HTMLElement} */ (one));
    const here = document.activeElement;
    const index = lines.findIndex((line) => line.contains(here));
    if (event.key === "Enter" && index >= 0 && here === lines[index]) {
        const target = /** @type {HTMLElement | null | undefined} */ (lines[index]?.querySelector("a, summary"));
        target?.click();
        return Boolean(target);
    }
    const by = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
    if (by === undefined || !lines.length || (event.key.startsWith("Arrow") && index < 0)) return false;
    lines[Math.min(lines.length - 1, Math.max(0, index + by))]?.focus();
    return true;
}
