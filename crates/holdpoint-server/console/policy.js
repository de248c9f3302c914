// Why a call gets its decision: typed here, decided by the real policy, and nothing runs.

import { get, post, Written } from "./api.js";
import { checkText } from "./answer.js";
import { el, field, fill, select } from "./dom.js";
import { print } from "./json.js";
import { fact } from "./question.js";
import { pageHead, problemView } from "./shell.js";
import { allTools, contextFields } from "./tools.js";
import { rawView } from "./value.js";

/** @type {Record<import("./api-types").Decide, string>} */
const VERDICTS = { allow: "It would run at once", confirm: "A person would be asked", deny: "It would be denied" };

/**
 * @param {string} wanted The agent that is chosen at first.
 * @returns {import("./app.js").Page}
 */
export function policyPage(wanted) {
    const agent = select([], "", { required: true });
    const tool = select([], "", { required: true });
    const text = el("textarea", { class: "code", rows: "8", spellcheck: "false", value: "{}" });
    const context = contextFields();
    const says = el("ul", { class: "checks", "aria-live": "polite" });
    const result = el("div", { "aria-live": "polite" });
    const submit = el("button", { type: "submit", class: "primary" }, "Explain");
    /** @type {import("./api-types").AgentView[]} */
    let agents = [];
    /** @type {import("./api-types").ToolView[]} */
    let tools = [];
    const chosen = () => tools.find((one) => one.agent === agent.value && one.name === tool.value);
    const check = () => {
        const { found } = checkText(text.value, chosen()?.parameters, "object");
        fill(says, ...found.map((one) => el("li", {}, one)));
    };
    const retool = () => {
        context.show(agents.find((one) => one.name === agent.value)?.context_keys ?? []);
        fill(tool, ...tools.filter((one) => one.agent === agent.value).map((one) => el("option", { value: one.name }, one.name)));
        propose();
    };
    const propose = () => {
        text.value = print(sample(chosen()?.parameters), 2);
        check();
    };
    agent.addEventListener("change", retool);
    tool.addEventListener("change", propose);
    text.addEventListener("input", check);
    const form = el("form", { class: "card form" }, field("Agent", agent), field("Tool", tool), field("Arguments as JSON", text), says, context.node, el("div", { class: "row" }, submit));
    form.addEventListener("submit", async (event) => {
        event.preventDefault();
        try {
            const attributes = context.text();
            const body = `{"agent":${JSON.stringify(agent.value)},"tool":${JSON.stringify(tool.value)},"values":true,"arguments":${text.value}${attributes ? `,"context":${attributes}` : ""}}`;
            fill(result, explanationView(await post("/v1/policy/explain", new Written(body))));
        } catch (problem) {
            fill(result, problemView(problem));
        }
    });
    const load = async () => {
        try {
            agents = (await get("/v1/agents")).agents;
            tools = await allTools();
            fill(agent, ...agents.map((one) => el("option", { value: one.name, selected: one.name === wanted }, one.name)));
            retool();
        } catch (problem) {
            fill(result, problemView(problem, load));
        }
    };
    return { node: el("div", { class: "page narrow" }, pageHead("Policy", "Ask what the policy would decide about a call. Nothing runs, and nothing is recorded."), form, result), open: () => void load(), close: () => {} };
}

/** Something to begin with: the required arguments. @param {any} schema */
function sample(schema) {
    /** @type {Record<string, unknown>} */
    const value = {};
    for (const name of schema?.required ?? []) {
        const rule = schema.properties?.[name] ?? {};
        value[name] = rule.enum?.[0] ?? ({ string: "", integer: rule.minimum ?? 0, number: rule.minimum ?? 0, boolean: false, array: [], object: {} }[/** @type {string} */ (rule.type)] ?? null);
    }
    return value;
}

/** @param {import("./api-types").Explanation} said */
function explanationView(said) {
    return el(
        "section",
        { class: `card verdict ${said.decides}`, "aria-label": "Explanation" },
        el("h2", {}, VERDICTS[said.decides]),
        said.reason && el("p", {}, said.reason),
        said.problem && el("p", {}, el("b", {}, "Problem: "), said.problem),
        said.rule ? ruleView(said.rule, "Decided by") : el("p", {}, "No rule matches, and what no rule allows is denied."),
        said.passed_over.length > 0 && el("h3", {}, "Rules before it that did not match"),
        ...said.passed_over.map((rule) => ruleView(rule, "Passed over")),
        said.elsewhere > 0 && el("p", { class: "hint" }, `${said.elsewhere} other ${said.elsewhere === 1 ? "rule is" : "rules are"} about other tools.`),
        el("p", { class: "hint" }, "Policy version ", el("code", {}, said.version)),
        rawView(said),
    );
}

/** @param {import("./api-types").ExplainedRule} rule @param {string} lead */
function ruleView(rule, lead) {
    return el(
        "div",
        { class: "rule" },
        el("p", {}, `${lead} `, el("b", {}, rule.name), ` (${rule.decides})`, rule.line ? el("span", { class: "hint" }, ` line ${rule.line} of ${(rule.file ?? "").split("/").pop()}`) : ""),
        rule.conditions.length > 0 && el("dl", { class: "facts small" }, ...rule.conditions.map((condition) =>
            fact(condition.at, el("b", {}, condition.held ? "holds: " : "does not hold: "), `wants ${print(condition.wants)}, saw ${"value" in condition ? print(condition.value) : condition.saw?.type ?? "nothing"}`))),
    );
}
