// A list of any length of which only what is seen is in the page. All rows have one height.

import { el } from "./dom.js";

/** How many rows beyond what is seen are kept. */
const OVERSCAN = 8;

/**
 * @template T
 */
export class VirtualList {
    /**
     * @param {{ label: string, rowHeight: number, render: (item: T, index: number) => HTMLElement, onNearEnd?: () => void }} options
     */
    constructor({ label, rowHeight, render, onNearEnd = () => {} }) {
        this.rowHeight = rowHeight;
        this.render = render;
        this.onNearEnd = onNearEnd;
        /** @type {T[]} */
        this.items = [];
        /** @type {Map<number, HTMLElement>} */
        this.rows = new Map();
        /** @type {WeakMap<HTMLElement, T>} What each row shows. */
        this.shown = new WeakMap();
        this.space = el("ul", { class: "virtual-space", "aria-label": label });
        this.node = el("div", { class: "virtual" }, this.space);
        this.node.addEventListener("scroll", () => this.draw(), { passive: true });
        this.observer = new ResizeObserver(() => this.draw());
        this.observer.observe(this.node);
    }

    /**
     * Shows these items from now on. Rows that show the same as before stay, and with them the focus; a row that was replaced
     * or moved gives its focus to the one that `isFocused` names. Nothing scrolls.
     * @param {T[]} items
     * @param {(item: T) => boolean} [isFocused]
     */
    show(items, isFocused = () => false) {
        const focused = this.space.contains(document.activeElement);
        this.items = items;
        for (const [index, row] of this.rows) {
            if (items[index] !== undefined && items[index] === this.shown.get(row)) row.setAttribute("aria-setsize", String(items.length));
            else this.drop(index);
        }
        this.space.style.height = `${items.length * this.rowHeight}px`;
        this.draw();
        if (focused && !this.space.contains(document.activeElement)) this.focus(items.findIndex(isFocused));
    }

    /** @param {number} index */
    drop(index) {
        this.rows.get(index)?.remove();
        this.rows.delete(index);
    }

    /** Puts the focus on a row, seen or not, and leaves the list where it is. @param {number} index */
    focus(index) {
        if (!this.items[index]) return;
        if (!this.rows.has(index)) this.put(index);
        /** @type {HTMLElement | null | undefined} */ (this.rows.get(index)?.querySelector("a, button"))?.focus({ preventScroll: true });
    }

    /** Items came at the end; what is drawn stays, except the rows from `changed` on. The focus stays on what had it. */
    grow(changed = this.items.length) {
        const rows = [...this.rows];
        const [, focused] = rows.find(([index, row]) => index >= changed && row.contains(document.activeElement)) ?? [];
        const item = focused && this.shown.get(focused);
        for (const [index] of rows) if (index >= changed) this.drop(index);
        this.space.style.height = `${this.items.length * this.rowHeight}px`;
        this.draw();
        if (item) this.focus(this.items.indexOf(item));
    }

    draw() {
        const height = this.node.clientHeight;
        const first = Math.max(0, Math.floor(this.node.scrollTop / this.rowHeight) - OVERSCAN);
        const last = Math.min(this.items.length, Math.ceil((this.node.scrollTop + height) / this.rowHeight) + OVERSCAN);
        for (const [index, row] of this.rows) {
            if ((index < first || index >= last) && !row.contains(document.activeElement)) this.drop(index);
        }
        for (let index = first; index < last; index++) if (!this.rows.has(index)) this.put(index);
        if (last >= this.items.length - OVERSCAN && this.items.length) this.onNearEnd();
    }

    /** @param {number} index */
    put(index) {
        const item = this.items[index];
        if (item === undefined) return;
        const row = el("li", { class: "virtual-row", "aria-setsize": this.items.length, "aria-posinset": index + 1 }, this.render(item, index));
        row.style.transform = `translateY(${index * this.rowHeight}px)`;
        row.style.height = `${this.rowHeight}px`;
        this.rows.set(index, row);
        this.shown.set(row, item);
        // The order in the page is the order of the list: that is how one tabs and how it is read aloud.
        let next = null;
        for (const other of this.space.children) {
            if (Number(other.getAttribute("aria-posinset")) > index + 1) {
                next = other;
                break;
            }
        }
        this.space.insertBefore(row, next);
    }

    /** @param {number} index */
    reveal(index) {
        const top = index * this.rowHeight;
        const { scrollTop, clientHeight } = this.node;
        if (top < scrollTop) this.node.scrollTop = top;
        else if (top + this.rowHeight > scrollTop + clientHeight) this.node.scrollTop = top + this.rowHeight - clientHeight;
        this.draw();
    }

    close() {
        this.observer.disconnect();
    }
}
