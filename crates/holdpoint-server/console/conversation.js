// A conversation as it was, message by message.

import { button, el } from "./dom.js";
import { inline, rawView, textView, valueView } from "./value.js";

/** How many messages are added each time somebody asks for more. */
const MORE = 50;

/** @type {Record<import("./api-types").Role, string>} */
const ROLES = { system: "System", user: "User", assistant: "Model", tool: "Tool" };

/**
 * @param {import("./api-types").MessageView[]} messages
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

/** @param {import("./api-types").MessageView} message */
function messageView(message) {
    const text = textOf(message);
    return el(
        "li",
        { class: `say ${message.role}` },
        el("p", { class: "role" }, ROLES[message.role], message.call_id ? el("span", { class: "hint" }, ` for ${message.call_id}`) : "", message.error ? el("b", {}, " error") : ""),
        message.thinking && el("details", {}, el("summary", {}, "Thinking"), textView(message.thinking)),
        text && textView(text),
        ...(message.calls ?? []).map((call) => el("p", { class: "call" }, "calls ", el("b", {}, call.name), " ", el("span", { class: "hint" }, inline(call.arguments)))),
        message.content ? rawView(message, "All of it") : null,
    );
}

/** @param {import("./api-types").MessageView} message @returns {string} */
export function textOf(message) {
    return message.text ?? (message.content ?? []).flatMap((block) => ("text" in block ? [block.text] : [])).join("\n");
}

/**
 * A result of a tool.
 * @param {import("./api-types").ResultView} result
 */
export function resultView(result) {
    return el("div", {}, ...result.blocks.map((block) => ("text" in block ? textView(block.text) : "json" in block ? valueView(block.json) : rawView(block, "A block"))));
}
