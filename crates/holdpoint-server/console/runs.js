// The list of runs.

import { get } from "./api.js";
import { el, field, select } from "./dom.js";
import { pageHead } from "./shell.js";
import { PagedTable } from "./table.js";
import { countdown, since } from "./time.js";

/** How often the list is read again while it is looked at. */
const AGAIN_MS = 5_000;

/** @type {Record<import("./api-types").RunStatus, string>} */
export const STATUS = {
    running: "running",
    awaiting_tool_confirmation: "waits for a person",
    awaiting_tool_results: "waits for results",
    finished: "finished",
    failed: "failed",
    cancelled: "cancelled",
};

/** @param {import("./api-types").RunStatus} status */
export function statusView(status) {
    return el("span", { class: `status ${status}` }, STATUS[status]);
}

/** @param {string} id */
export function shortId(id) {
    return id.length > 20 ? `…${id.slice(-12)}` : id;
}

/** @returns {import("./app.js").Page} */
export function runsPage() {
    const status = select([["", "any"], ...Object.entries(STATUS)], "");
    const agent = select([["", "any"]], "");
    const sessionName = el("input", { type: "text", maxlength: "200" });
    void get("/v1/agents").then((answer) => agent.append(...answer.agents.map((one) => el("option", { value: one.name }, one.name))), () => null);
    /** @type {PagedTable<import("./api-types").RunSummary>} */
    const table = new PagedTable({
        label: "Runs",
        columns: ["Run", "Agent", "State", "Deadline", "Session", "Started", "Moved"],
        row: (run) => [
            el("a", { href: `#/runs/${encodeURIComponent(run.id)}`, title: run.id }, shortId(run.id)),
            run.agent ?? "",
            statusView(run.status),
            run.deadline ? countdown(run.deadline) : "",
            run.session ?? "",
            since(run.created_at),
            since(run.updated_at),
        ],
        load: async (cursor) => {
            const page = await get("/v1/runs", { query: { limit: 50, cursor, status: status.value, agent: agent.value, session: sessionName.value.trim() } });
            return { items: page.runs, next: page.next };
        },
        none: "No run fits.",
    });
    for (const control of [status, agent, sessionName]) control.addEventListener("change", () => void table.reload());
    const timer = setInterval(() => {
        // Who scrolled down reads: the list stays as it is.
        if (!document.hidden && scrollY < 200 && table.body.childElementCount <= 50) void table.refresh();
    }, AGAIN_MS);
    const filters = el("form", { class: "filters", "aria-label": "Filters" }, field("State", status), field("Agent", agent), field("Session", sessionName));
    filters.addEventListener("submit", (event) => event.preventDefault());
    return {
        node: el("div", { class: "page" }, pageHead("Runs", "The last started first."), filters, table.node),
        open: () => void table.reload(),
        key: (event) => table.key(event),
        close: () => {
            clearInterval(timer);
            table.close();
        },
    };
}
