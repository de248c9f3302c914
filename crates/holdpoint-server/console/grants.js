// Standing approvals, and taking them back.

import { get, may, remove } from "./api.js";
import { button, el } from "./dom.js";
import { pageHead, toast } from "./shell.js";
import { PagedTable } from "./table.js";
import { countdown, when } from "./time.js";

/** @returns {import("./app.js").Page} */
export function grantsPage() {
    /** @type {PagedTable<import("./api-types").ListedGrantView>} */
    const table = new PagedTable({
        label: "Grants",
        columns: ["Tool", "Arguments", "Where", "Given by", "Given", "Until", ""],
        row: (grant) => [
            el("b", { class: "tool" }, grant.tool),
            grant.arguments === "any" ? el("b", {}, "any") : el("span", { title: grant.digest }, `exactly those of ${String(grant.digest).slice(0, 8)}`),
            grant.scope === "run" ? el("a", { href: `#/runs/${encodeURIComponent(grant.run_id ?? "")}` }, "one run") : grant.scope === "session" ? `session ${grant.session}` : "every run",
            grant.actor ?? "unknown",
            when(grant.created_at),
            grant.revoked_at ? el("span", {}, `taken back by ${grant.revoked_by}, `, when(grant.revoked_at)) : grant.valid ? (grant.until ? countdown(grant.until) : "it is taken back") : "over",
            grant.valid && may("approve") ? button("Take back", async () => {
                await remove("/v1/grants/{id}", { id: grant.id }).then(() => toast("It counts no more."), (problem) => toast(`That did not work: ${problem.message}.`));
                await table.reload();
            }, { class: "small", "aria-label": `Take back the grant for ${grant.tool}` }) : "",
        ],
        load: async (cursor) => {
            const page = await get("/v1/grants", { query: { limit: 50, cursor } });
            return { items: page.grants, next: page.next };
        },
        none: "There are no grants: every question is asked each time.",
    });
    return { node: el("div", { class: "page" }, pageHead("Grants", "Approvals that count again. The policy is still asked each time; where it would ask a person, these answer."), table.node), open: () => void table.reload(), key: (event) => table.key(event), close: () => table.close() };
}
