// The one way in which this page makes nodes. Every text becomes a text node, whoever wrote it: nothing is ever markup.

import { isOdd, pieces, plain } from "./visible.js";

/** @typedef {Node | string | number | null | undefined | false | Children} Child */
/** @typedef {ReadonlyArray<Child>} Children */
/** @typedef {Record<string, unknown>} Props */

/** Attributes that people read or hear: they take no marks, so that what deceives is written out in them. */
const TOLD = new Set(["title", "aria-label", "placeholder"]);

/**
 * Makes an element.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Props | null} [props] Attributes; `on` maps events to handlers, `class` is a class, `lines` keeps line breaks of texts.
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function el(tag, props, ...children) {
    const node = document.createElement(tag);
    const lines = Boolean(props?.lines);
    for (const [name, value] of Object.entries(props ?? {})) {
        if (value === null || value === undefined || value === false || name === "lines") continue;
        if (name === "on") {
            for (const [event, handler] of Object.entries(/** @type {Record<string, EventListener>} */ (value))) {
                node.addEventListener(event, handler);
            }
        } else if (name === "value" && "value" in node) {
            /** @type {{ value: unknown }} */ (/** @type {unknown} */ (node)).value = value;
        } else {
            node.setAttribute(name, value === true ? "" : TOLD.has(name) ? plain(String(value)) : String(value));
        }
    }
    put(node, children, lines);
    return node;
}

/**
 * Appends children. Texts with characters that deceive get marks in their place.
 * @param {Node} node
 * @param {Child[]} children
 * @param {boolean} [lines]
 */
export function put(node, children, lines = false) {
    for (const child of children) {
        if (child === null || child === undefined || child === false) continue;
        if (Array.isArray(child)) put(node, child, lines);
        else if (child instanceof Node) node.appendChild(child);
        else putText(node, String(child), lines);
    }
}

/**
 * @param {Node} node
 * @param {string} text
 * @param {boolean} lines
 */
function putText(node, text, lines) {
    if (!isOdd(text, { lines })) {
        node.appendChild(document.createTextNode(text));
        return;
    }
    for (const piece of pieces(text, { lines })) {
        if (!piece.odd) {
            node.appendChild(document.createTextNode(piece.text));
            continue;
        }
        const mark = document.createElement("span");
        mark.className = "odd";
        mark.title = piece.name;
        mark.textContent = `${piece.text} ${piece.name}`;
        node.appendChild(mark);
    }
}

/**
 * Replaces everything in a node.
 * @param {Element} node
 * @param {...Child} children
 */
export function fill(node, ...children) {
    node.replaceChildren();
    put(node, children);
}

/**
 * A button.
 * @param {string} text
 * @param {(event: Event) => unknown} click
 * @param {Props} [props]
 */
export function button(text, click, props = {}) {
    return el("button", { type: "button", ...props, on: { click } }, text);
}

/**
 * A button that copies a text, and says that it did.
 * @param {string} text
 * @param {string} label
 */
export function copyButton(text, label) {
    const node = button(label, async () => {
        const done = await navigator.clipboard?.writeText(text).then(() => true, () => false);
        node.textContent = done ? "Copied" : "Not copied: this browser does not let pages do that";
    }, { class: "small", "aria-live": "polite" });
    return node;
}

/**
 * A field with its label.
 * @param {string} label
 * @param {HTMLElement} control
 * @param {string} [hint]
 */
export function field(label, control, hint) {
    const id = control.id || `f-${Math.random().toString(36).slice(2)}`;
    control.id = id;
    if (hint) control.setAttribute("aria-describedby", `${id}-hint`);
    return el("div", { class: "field" }, el("label", { for: id }, label), control, hint && el("p", { class: "hint", id: `${id}-hint` }, hint));
}

/**
 * A choice of one of several.
 * @param {Array<[string, string]>} options Values with their labels.
 * @param {string} chosen
 * @param {Props} [props]
 */
export function select(options, chosen, props = {}) {
    const list = options.map(([value, label]) => el("option", { value, selected: value === chosen }, label));
    return el("select", props, ...list);
}
