// Starts a run with an agent of the server; the page of the run shows it as it goes.

import { Written, get, post } from "./api.js";
import { el, field, fill, select } from "./dom.js";
import { pageHead, problemView } from "./shell.js";
import { contextFields } from "./tools.js";

/** @returns {import("./app.js").Page} */
export function startPage() {
    const about = el("p", { class: "hint" });
    const agent = select([], "", { required: true });
    const input = el("textarea", { rows: "6", required: true, placeholder: "What the user says" });
    const sessionName = el("input", { type: "text", maxlength: "200" });
    const context = contextFields();
    const result = el("div", {});
    const submit = el("button", { type: "submit", class: "primary" }, "Start");
    /** @type {import("./api-types").AgentView[]} */
    let agents = [];
    const describe = () => {
        const chosen = agents.find((one) => one.name === agent.value);
        fill(about, chosen ? `${chosen.description ?? ""} Model: ${chosen.model ?? "unknown"}. Tools: ${chosen.tools.join(", ") || "none"}.` : "");
        context.show(chosen?.context_keys ?? []);
    };
    agent.addEventListener("change", describe);
    const form = el("form", { class: "card form" }, field("Agent", agent), about, field("Input", input), field("Session", sessionName, "The conversation it goes on with, by a name of your own. Empty: one of its own."), context.node, el("div", { class: "row" }, submit), result);
    form.addEventListener("submit", async (event) => {
        event.preventDefault();
        submit.disabled = true;
        fill(result);
        try {
            const members = [["agent", agent.value], ["input", input.value]];
            if (sessionName.value.trim()) members.push(["session", sessionName.value.trim()]);
            const text = members.map((member) => member.map((part) => JSON.stringify(part)).join(":")).join(",");
            const attributes = context.text();
            const run = await post("/v1/runs", new Written(`{${text}${attributes ? `,"context":${attributes}` : ""}}`));
            location.hash = `#/runs/${encodeURIComponent(run.id)}`;
        } catch (problem) {
            fill(result, problemView(problem));
        }
        submit.disabled = false;
    });
    const load = () => get("/v1/agents").then(
        (answer) => {
            agents = answer.agents;
            fill(agent, ...agents.map((one) => el("option", { value: one.name }, one.name)));
            describe();
        },
        (problem) => fill(result, problemView(problem, load)),
    );
    return {
        node: el("div", { class: "page narrow" }, pageHead("Start a run", "It goes on by itself, whoever watches."), form),
        open: () => {
            void load();
            agent.focus();
        },
        close: () => {},
    };
}
