// Who decided what, and whether that is as it was written.

import { get } from "./api.js";
import { button, el, field, fill } from "./dom.js";
import { shortId } from "./runs.js";
import { pageHead, problemView } from "./shell.js";
import { PagedTable } from "./table.js";
import { when } from "./time.js";
import { grouped, rawView } from "./value.js";

/** How long the server may take to go through a whole log. */
const VERIFY_MS_MAX = 60 * 60_000;

/**
 * @param {string} wanted A run.
 * @returns {import("./app.js").Page}
 */
export function auditPage(wanted) {
    const run = el("input", { type: "text", maxlength: "600", value: wanted, placeholder: "all runs", class: "wide-input" });
    const verdict = el("div", { "aria-live": "polite" });
    const verify = button("Verify the whole log", async () => {
        verify.disabled = true;
        fill(verdict, el("p", { class: "blank" }, "Checking every row, every chain, every seal…"));
        await get("/v1/audit/verify", {}, VERIFY_MS_MAX).then((said) => fill(verdict, verdictView(said)), (problem) => fill(verdict, problemView(problem)));
        verify.disabled = false;
    }, { class: "primary" });
    /** @type {PagedTable<import("./api-types").AuditEntry>} */
    const table = new PagedTable({
        label: "Audit log",
        columns: ["When", "Run", "What", "Link"],
        keyOf: (entry) => entry.link,
        row: (entry) => [
            when(entry.at),
            el("a", { href: `#/runs/${encodeURIComponent(entry.run_id)}`, title: entry.run_id }, `${shortId(entry.run_id)} · ${entry.revision}`),
            el("div", {}, ...(entry.decisions?.map(decisionView) ?? [el("p", { class: "line" }, el("b", {}, "cannot be read"))])),
            rawView(entry, `${entry.link.slice(0, 10)}…`),
        ],
        load: async (cursor) => {
            const page = await get("/v1/audit", { query: { limit: 50, cursor, run: run.value.trim() } });
            return { items: page.entries, next: page.next };
        },
        none: "Nothing was recorded.",
    });
    run.addEventListener("change", () => void table.reload());
    const filters = el("form", { class: "filters", "aria-label": "Filters" }, field("Run", run), verify);
    filters.addEventListener("submit", (event) => event.preventDefault());
    return { node: el("div", { class: "page" }, pageHead("Audit", "Every decision with its actor, chained so that a change is found."), filters, verdict, table.node), open: () => void table.reload(), key: (event) => table.key(event), close: () => table.close() };
}

/** @param {import("./api-types").AuditVerdict} said */
function verdictView(said) {
    return el(
        "section",
        { class: `card verdict ${said.ok ? "allow" : "deny"}` },
        el("h2", {}, said.ok ? "Everything is as it was written" : `${grouped(said.findings.length)} things do not fit`),
        el("p", {}, `${grouped(said.runs)} runs, ${grouped(said.rows)} rows, ${grouped(said.seals)} seals.`),
        said.findings.length > 0 && el("ul", {}, ...said.findings.slice(0, 200).map((one) => el("li", {}, one.problem))),
    );
}

/** @param {import("./api-types").AuditDecisionView} one */
function decisionView(one) {
    const who = one.actor?.id ?? one.worker ?? "";
    const what = String(one.event ?? "").replaceAll("_", " ");
    const more = [one.tool, one.decision, one.outcome, one.reason].filter(Boolean).join(", ");
    return el("p", { class: "line" }, el("b", {}, what), more ? ` ${more}` : "", who ? el("span", { class: "hint" }, ` by ${who}`) : "");
}
