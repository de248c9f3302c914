// The tools of the server, and fields for what their schemas ask for.

import { get } from "./api.js";
import { el, field, fill, select } from "./dom.js";
import { parse, print } from "./json.js";

/** @typedef {import("./api-types").ToolView} Tool */

/** @type {Promise<Tool[]> | null} */
let asked = null;

/** Asked for once, until something may have changed. @returns {Promise<Tool[]>} */
export function allTools() {
    asked ??= get("/v1/tools").then(
        (answer) => answer.tools,
        () => {
            asked = null;
            return [];
        },
    );
    return asked;
}

/** The next who wants to know asks the server again. */
export function forgetTools() {
    asked = null;
}

/**
 * @param {string | null | undefined} agent
 * @param {string} name
 * @returns {Promise<Tool | null>}
 */
export async function toolOf(agent, name) {
    const tools = await allTools();
    return tools.find((tool) => tool.agent === agent && tool.name === name) ?? null;
}

/**
 * Fields for an object of a schema, and what is written in them, as JSON.
 * @typedef {{ node: HTMLElement, text: () => string }} Fields
 */

/**
 * Whether a schema can be asked for with fields.
 * @param {any} schema
 */
export function hasFields(schema) {
    return schema?.type === "object" && Object.keys(schema.properties ?? {}).length > 0 && Object.keys(schema.properties).length <= FIELDS_MAX;
}

/** More fields than this are no form any more. */
const FIELDS_MAX = 60;

/**
 * @param {any} schema
 * @param {(() => void)} onInput
 * @returns {Fields}
 */
export function schemaFields(schema, onInput) {
    const required = new Set(Array.isArray(schema.required) ? schema.required : []);
    const members = Object.entries(schema.properties).map(([name, rule]) => /** @type {const} */ ([name, memberField(name, rule, { required: required.has(name), onInput })]));
    const node = el("div", { class: "form" }, ...members.map(([, member]) => member.node));
    return {
        node,
        // Numbers stay as they were typed, digit by digit.
        text: () => `{${members.flatMap(([name, member]) => (member.text() === null ? [] : [`${JSON.stringify(name)}:${member.text()}`])).join(",")}}`,
    };
}

/**
 * One member. Its text is nothing where it is left out: then the tool takes what it proposed, if anything.
 * @param {string} name
 * @param {any} rule
 * @param {{ required: boolean, onInput: () => void }} options
 * @returns {{ node: HTMLElement, text: () => string | null }}
 */
function memberField(name, rule, { required, onInput }) {
    const label = `${rule?.title ?? name}${required ? "" : " (optional)"}`;
    const hint = rule?.description;
    if (hasFields(rule)) {
        const inner = schemaFields(rule, onInput);
        return { node: el("fieldset", {}, el("legend", {}, label), hint && el("p", { class: "hint" }, hint), inner.node), text: inner.text };
    }
    const many = choicesOf(rule?.items);
    if (rule?.type === "array" && many.length) return manyField(label, many, { rule, onInput });
    const control = controlOf(rule, required);
    control.node.addEventListener("input", onInput);
    control.node.addEventListener("change", onInput);
    return { node: field(label, control.node, hint), text: control.text };
}

/**
 * What may be chosen, each with its label.
 * @param {any} rule
 * @returns {Array<{ value: unknown, label: string }>}
 */
function choicesOf(rule) {
    if (Array.isArray(rule?.enum)) return rule.enum.map((/** @type {unknown} */ value, /** @type {number} */ index) => ({ value, label: String(rule.enumNames?.[index] ?? (typeof value === "string" ? value : print(value))) }));
    const forms = rule?.oneOf ?? rule?.anyOf;
    if (!Array.isArray(forms) || !forms.every((form) => form && Object.hasOwn(form, "const"))) return [];
    return forms.map((form) => ({ value: form.const, label: String(form.title ?? (typeof form.const === "string" ? form.const : print(form.const))) }));
}

/**
 * @param {any} rule
 * @param {boolean} required
 * @returns {{ node: HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement, text: () => string | null }}
 */
function controlOf(rule, required) {
    const proposed = rule && Object.hasOwn(rule, "default") ? rule.default : undefined;
    const choices = rule?.type === "boolean" ? [{ value: true, label: "yes" }, { value: false, label: "no" }] : choicesOf(rule);
    if (choices.length) {
        const values = choices.map((choice) => print(choice.value));
        const first = /** @type {Array<[string, string]>} */ (required && proposed !== undefined ? [] : [["", "choose…"]]);
        const node = select([...first, ...choices.map((choice, index) => /** @type {[string, string]} */ ([values[index], choice.label]))], proposed === undefined ? "" : print(proposed));
        return { node, text: () => node.value || null };
    }
    if (rule?.type === "string") {
        const kinds = /** @type {Record<string, string>} */ ({ email: "email", date: "date", "date-time": "text", uri: "url" });
        const long = rule.maxLength > 200;
        const node = long ? el("textarea", { rows: "3", value: proposed ?? "" }) : el("input", { type: kinds[rule.format] ?? "text", value: proposed ?? "" });
        return { node, text: () => (node.value ? JSON.stringify(node.value) : null) };
    }
    const number = rule?.type === "number" || rule?.type === "integer";
    const written = proposed === undefined ? "" : print(proposed, number ? 0 : 2);
    const node = number ? el("input", { type: "text", inputmode: "decimal", autocomplete: "off", value: written }) : el("textarea", { class: "code", rows: "3", spellcheck: "false", placeholder: "JSON", value: written });
    // What is no JSON goes on as a text, and is found not to fit.
    return { node, text: () => (node.value.trim() ? jsonOrText(node.value.trim()) : null) };
}

/** @param {string} text */
function jsonOrText(text) {
    try {
        parse(text);
        return text;
    } catch {
        return JSON.stringify(text);
    }
}

/**
 * Several of some.
 * @param {string} label
 * @param {Array<{ value: unknown, label: string }>} choices
 * @param {{ rule: any, onInput: () => void }} options
 */
function manyField(label, choices, { rule, onInput }) {
    const proposed = new Set((Array.isArray(rule.default) ? rule.default : []).map((/** @type {unknown} */ one) => print(one)));
    const boxes = choices.map((choice) => {
        const box = el("input", { type: "checkbox", checked: proposed.has(print(choice.value)) });
        box.addEventListener("change", onInput);
        return { box, choice };
    });
    const node = el("fieldset", {}, el("legend", {}, label), rule.description && el("p", { class: "hint" }, rule.description), ...boxes.map(({ box, choice }) => el("label", { class: "check" }, box, " ", choice.label)));
    return { node, text: () => `[${boxes.filter(({ box }) => box.checked).map(({ choice }) => print(choice.value)).join(",")}]` };
}

/**
 * Fields for attributes of a context, by the keys that an agent takes.
 * @returns {{ node: HTMLElement, show: (keys: string[]) => void, text: () => string | null }}
 */
export function contextFields() {
    const node = el("div", { class: "form" });
    /** @type {Array<[string, HTMLInputElement]>} */
    let inputs = [];
    return {
        node,
        show: (keys) => {
            inputs = keys.map((key) => [key, el("input", { type: "text" })]);
            fill(node, ...inputs.map(([key, input]) => field(`Context: ${key}`, input)));
        },
        // A number, true, false, a list or an object stays one; anything else is a text.
        text: () => {
            const given = inputs.filter(([, input]) => input.value);
            return given.length ? `{${given.map(([key, input]) => `${JSON.stringify(key)}:${jsonOrText(input.value)}`).join(",")}}` : null;
        },
    };
}
