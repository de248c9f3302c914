// Agents and their tools.

import { get } from "./api.js";
import { el, fill } from "./dom.js";
import { fact } from "./question.js";
import { pageHead, problemView } from "./shell.js";
import { step } from "./table.js";
import { duration } from "./time.js";
import { grouped, rawView } from "./value.js";

/** @type {Record<import("./api-types").Repeat, string>} */
const REPEAT = { never: "never repeated: in doubt a person is asked", safe: "safe to repeat", with_key: "repeated with its idempotency key" };

/** @returns {import("./app.js").Page} */
export function agentsPage() {
    const place = el("div", {}, el("p", { class: "blank" }, "Looking…"));
    const load = async () => {
        try {
            const [{ agents }, { tools }] = await Promise.all([get("/v1/agents"), get("/v1/tools")]);
            fill(place, ...agents.map((agent) => agentView(agent, tools.filter((tool) => tool.agent === agent.name))));
        } catch (problem) {
            fill(place, problemView(problem, load));
        }
    };
    return { node: el("div", { class: "page" }, pageHead("Agents and tools", "What this server runs. Numbers count since it started."), place), open: () => void load(), key: (event) => step(place, ".tool-row > summary", event), close: () => {} };
}

/** @param {import("./api-types").AgentView} agent @param {import("./api-types").ToolView[]} tools */
function agentView(agent, tools) {
    return el(
        "section",
        { class: "card", "aria-label": `Agent ${agent.name}` },
        el("div", { class: "card-head" }, el("h2", {}, agent.name), el("a", { href: `#/policy/${encodeURIComponent(agent.name)}` }, "Ask its policy")),
        agent.description && el("p", {}, agent.description),
        el("dl", { class: "facts inline" }, fact("Model", agent.model ?? "unnamed"), agent.context_keys.length > 0 && fact("Context", agent.context_keys.join(", ")), fact("Policy", agent.policy ? el("code", {}, agent.policy.slice(0, 12)) : "none: everything is denied")),
        ...tools.map((tool) =>
            el("details", { class: "tool-row" },
                el("summary", {}, el("b", { class: "tool" }, tool.name), el("span", { class: "hint" }, ` ${tool.description}`), el("span", { class: "numbers" }, statistics(tool.statistics))),
                el("dl", { class: "facts small" }, fact("Runs as", tool.source), fact("Repeat", REPEAT[tool.repeat])),
                rawView(tool.parameters, "Schema of its arguments")),
        ),
    );
}

/** @param {import("./api-types").ToolStatistics} numbers */
function statistics({ calls, errors, duration_us }) {
    if (!calls) return "not called yet";
    return `${grouped(calls)} calls, ${errors ? `${grouped(errors)} errors` : "no error"}, ${duration(duration_us / 1000 / calls)} each`;
}
