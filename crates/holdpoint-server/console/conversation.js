// A conversation as it was, message by message.

import { button, el } from "./dom.js";
import { inline, rawView, textView, valueView } from "./value.js";

/** How many messages are added each time somebody asks for more. */
const MORE = 50;

/** @type {Record<string, string>} */
const ROLES = { system: "System", user: "User", assistant: "Model", tool: "Tool" };

/**
 * @param {any[]} messages
 * @param {{ last?: number }} [options] `last`: how many are shown at first, from the end.
 */
export function conversationView(messages, { last = MORE } = {}) {
    const list = el("ol", { class: "talk" });
    let from = Math.max(0, messages.length - last);
    list.append(...messages.slice(from).map(messageView));
    const earlier = button("", () => {
        const start = Math.max(0, from - MORE);
        list.prepend(...messages.slice(start, from).map(messageView));
        from = start;
        label();
    }, { class: "small" });
    function label() {
        earlier.hidden = from === 0;
        earlier.textContent = `Show ${Math.min(MORE, from)} earlier of ${messages.length} messages`;
    }
    label();
    return el("div", {}, earlier, list);
}

/** @param {any} message */
function messageView(message) {
    const text = textOf(message);
    return el(
        "li",
        { class: `say ${message.role}` },
        el("p", { class: "role" }, ROLES[message.role] ?? String(message.role), message.call_id ? el("span", { class: "hint" }, ` for ${message.call_id}`) : "", message.error ? el("b", {}, " error") : ""),
        message.thinking && el("details", {}, el("summary", {}, "Thinking"), textView(String(message.thinking))),
        text && textView(text),
        ...(message.calls ?? []).map((/** @type {any} */ call) => el("p", { class: "call" }, "calls ", el("b", {}, call.name), " ", el("span", { class: "hint" }, inline(call.arguments)))),
        message.blocks || message.content ? rawView(message, "All of it") : null,
    );
}

/** @param {any} message @returns {string} */
export function textOf(message) {
    if (typeof message?.text === "string") return message.text;
    const blocks = message?.blocks ?? message?.content ?? [];
    return Array.isArray(blocks) ? blocks.map((block) => (typeof block?.text === "string" ? block.text : "")).filter(Boolean).join("\n") : "";
}

/**
 * A result of a tool.
 * @param {any} result
 */
export function resultView(result) {
    const blocks = Array.isArray(result?.blocks) ? result.blocks : [];
    return el("div", {}, ...blocks.map((/** @type {any} */ block) => (typeof block?.text === "string" ? textView(block.text) : "json" in (block ?? {}) ? valueView(block.json) : rawView(block, "A block"))));
}
