// A value of any size, shown piece by piece: what is long is cut, says how long it is, and can be opened.

import { button, el, fill } from "./dom.js";
import { Exact, print } from "./json.js";

/** How much of a text is shown at first, and how much more each time. */
const TEXT_FIRST = 400;
const TEXT_MORE = 20_000;
/** How many members of an object or a list are shown at first, and how many more each time. */
const MEMBERS_FIRST = 40;
const MEMBERS_MORE = 400;
/** How much of a member is shown where all of them stand in one line, and how much of a name is read aloud. */
const INLINE_MAX = 60;
const NAME_MAX = 80;
/** How deep objects are opened by themselves. */
const OPEN_DEPTH = 2;
const NUMBERS = new Intl.NumberFormat("en");

/** @param {number} number */
export function grouped(number) {
    return NUMBERS.format(number);
}

/**
 * The members of an object as a list of names and values.
 * @param {unknown} value
 * @param {number} [depth]
 * @returns {HTMLElement}
 */
export function valueView(value, depth = 0) {
    if (typeof value === "string") return edgedView(textView(value), value);
    if (value instanceof Exact) return el("span", { class: "v number" }, value.text);
    if (Array.isArray(value)) return membersView(value.map((item, index) => [String(index), item]), "list", depth);
    if (value !== null && typeof value === "object") return membersView(Object.entries(value), "object", depth);
    return el("span", { class: `v ${typeof value}` }, String(value));
}

/**
 * What kind of value it is, in words.
 * @param {unknown} value
 */
export function kindOf(value) {
    if (typeof value === "string") return value.length > 60 ? `text, ${grouped(value.length)} characters` : "text";
    if (typeof value === "number" || value instanceof Exact) return "number";
    if (typeof value === "boolean") return "true or false";
    if (value === null) return "null";
    if (Array.isArray(value)) return `list of ${grouped(value.length)}`;
    const size = Object.keys(/** @type {object} */ (value)).length;
    return `object with ${grouped(size)} ${size === 1 ? "member" : "members"}`;
}

/**
 * A text with what stands at its ends and cannot be seen there, in words: two texts that differ must not look the same.
 * @param {HTMLElement} view
 * @param {string} text
 */
function edgedView(view, text) {
    const [before, after] = [blanks(/^[ \t\n]+/.exec(text)?.[0]), blanks(/[ \t\n]+$/.exec(text)?.[0])];
    if (!before && !after) return view;
    const whole = Boolean(text) && !text.trim();
    return el("span", { class: "edged" }, before && !whole ? el("span", { class: "odd" }, `begins with ${before}`) : null, view, after && el("span", { class: "odd" }, whole ? `nothing but ${after}` : `ends with ${after}`));
}

/** @param {string} [text] Spaces, tabs and line breaks. */
function blanks(text = "") {
    const names = /** @type {const} */ ([[" ", "space"], ["\t", "tab"], ["\n", "line break"]]);
    const counted = names.map(([letter, name]) => /** @type {const} */ ([text.split(letter).length - 1, name])).filter(([count]) => count);
    return counted.map(([count, name]) => (count === 1 ? `a ${name}` : `${grouped(count)} ${name}s`)).join(", ");
}

/**
 * Where a text may be cut at the latest: not inside a character that takes two places.
 * @param {string} text
 * @param {number} at
 */
function seam(text, at) {
    const inside = /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1));
    return inside ? at - 1 : Math.min(at, text.length);
}

/**
 * A text, cut where it is long.
 * @param {string} text
 * @param {string} [kind]
 * @returns {HTMLElement}
 */
export function textView(text, kind = "v text") {
    if (!text) return el("span", { class: "v empty" }, "empty text");
    let shown = seam(text, TEXT_FIRST);
    const node = el("span", { class: kind, lines: true }, text.slice(0, shown));
    if (text.length <= shown) return node;
    const whole = el("div", { class: "v-long" }, node);
    const note = el("span", { class: "cut", role: "status" });
    const more = button("", () => {
        const next = seam(text, shown + TEXT_MORE);
        node.append(el("span", { lines: true }, text.slice(shown, next)));
        shown = next;
        whole.classList.add("open");
        say();
    });
    const end = button("Show the end", () => {
        fill(tail, el("span", { class: "cut" }, "The last characters: "), el("span", { class: kind, lines: true }, text.slice(seam(text, text.length - TEXT_FIRST))));
    });
    const tail = el("div", {});
    function say() {
        const left = text.length - shown;
        fill(note, left ? `cut: ${grouped(shown)} of ${grouped(text.length)} characters ` : `all ${grouped(text.length)} characters `);
        more.textContent = left > TEXT_MORE ? `Show ${grouped(TEXT_MORE)} more` : `Show the other ${grouped(left)}`;
        more.hidden = end.hidden = !left;
        if (!left) tail.replaceChildren();
    }
    say();
    whole.append(el("div", { class: "cut-bar" }, note, more, end), tail);
    return whole;
}

/**
 * @param {Array<[string, unknown]>} members
 * @param {"list" | "object"} kind
 * @param {number} depth
 */
function membersView(members, kind, depth) {
    if (!members.length) return el("span", { class: "v empty" }, kind === "list" ? "empty list" : "empty object");
    const list = el("dl", { class: "members" });
    const whole = el("div", { class: "v-members" }, list);
    let shown = 0;
    const more = button("", () => grow(MEMBERS_MORE));
    /** @param {number} count */
    function grow(count) {
        const rows = document.createDocumentFragment();
        for (const [name, value] of members.slice(shown, shown + count)) rows.append(memberView(name, value, depth));
        list.append(rows);
        shown = Math.min(members.length, shown + count);
        const left = members.length - shown;
        more.hidden = !left;
        more.textContent = `Show ${grouped(Math.min(left, MEMBERS_MORE))} more of ${grouped(members.length)}`;
    }
    grow(depth >= OPEN_DEPTH ? Math.min(MEMBERS_FIRST, 10) : MEMBERS_FIRST);
    if (!more.hidden) whole.append(el("div", { class: "cut-bar" }, more));
    return whole;
}

/** A key may be as long and as odd as a value. @param {string} name */
function keyView(name) {
    if (!name) return el("span", { class: "key v empty" }, "empty key");
    return edgedView(name.length > TEXT_FIRST ? textView(name, "key") : el("span", { class: "key" }, name), name);
}

/**
 * @param {string} name
 * @param {unknown} value
 * @param {number} depth
 */
function memberView(name, value, depth) {
    const label = el("dt", {}, keyView(name), el("span", { class: "kind" }, kindOf(value)));
    const nested = value !== null && typeof value === "object" && !(value instanceof Exact);
    if (nested && depth + 1 >= OPEN_DEPTH && Object.keys(value).length) {
        const body = el("dd", {});
        body.append(button("Open", () => fill(body, valueView(value, depth + 1)), { "aria-label": `Open ${cut(name, NAME_MAX)}`, class: "small" }));
        return el("div", { class: "member" }, label, body);
    }
    return el("div", { class: nested ? "member nested" : "member" }, label, el("dd", {}, valueView(value, depth + 1)));
}

/**
 * The first members in one line, for lists. Texts stand in quotation marks: none of them can look like another member.
 * @param {unknown} value
 * @param {number} [max]
 */
export function inline(value, max = 120) {
    if (value === null || typeof value !== "object" || value instanceof Exact || Array.isArray(value)) return cut(print(value), max);
    let text = "";
    for (const [name, item] of Object.entries(value)) {
        const shown = typeof item === "string" ? quoted(item, INLINE_MAX) : item !== null && typeof item === "object" && !(item instanceof Exact) ? kindOf(item) : cut(print(item), INLINE_MAX);
        text += `${text ? " · " : ""}${/^[\w.-]+$/.test(name) ? cut(name, INLINE_MAX) : quoted(name, INLINE_MAX)} ${shown}`;
        if (text.length > max) break;
    }
    return cut(text, max);
}

/** @param {string} text @param {number} max */
function quoted(text, max) {
    return `"${text.slice(0, seam(text, max)).replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"${text.length > max ? "…" : ""}`;
}

/**
 * @param {string} text
 * @param {number} max
 */
export function cut(text, max) {
    return text.length > max ? `${text.slice(0, seam(text, max))}…` : text;
}

/**
 * Raw JSON behind a button: made only when somebody wants it.
 * @param {unknown} value
 * @param {string} [label]
 */
export function rawView(value, label = "Raw JSON") {
    const box = el("details", { class: "raw" }, el("summary", {}, label));
    box.addEventListener("toggle", () => {
        if (box.open && box.children.length === 1) {
            const pre = el("div", { class: "code", tabindex: "0", role: "group", "aria-label": label }, textView(print(value, 2)));
            box.append(pre);
        }
    });
    return box;
}
