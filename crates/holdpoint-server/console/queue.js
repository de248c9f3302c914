// Workers, the queue, and what nobody gets any more.

import { get, may, post } from "./api.js";
import { button, el, fill, select, field } from "./dom.js";
import { same } from "./json.js";
import { fact } from "./question.js";
import { shortId } from "./runs.js";
import { pageHead, problemView, toast } from "./shell.js";
import { LINES, PagedTable, step } from "./table.js";
import { countdown, duration, now, since } from "./time.js";
import { plain } from "./visible.js";

/** @typedef {import("./api-types").TaskView} Task */
/** @typedef {import("./api-types").WorkerView} Worker */

/** How often the page is read again. */
const AGAIN_MS = 3_000;
/** @type {Record<import("./api-types").TaskStateName, string>} */
const STATES = { waiting: "waits for a worker", leased: "a worker has it", delivered: "its result waits for the run", dead: "a person must say what becomes of it" };

/** @returns {import("./app.js").Page} */
export function queuePage() {
    const summary = el("div", {}, el("p", { class: "blank" }, "Looking…"));
    const workers = el("div", {});
    const state = select([["", "any"], ["waiting", "waiting"], ["leased", "leased"], ["delivered", "delivered"]], "");
    const table = taskTable("Tasks", () => state.value, "Nothing is in the queue.", (task) => void requeue(task));
    const dead = taskTable("Dead letters", () => "dead", "", (task) => void requeue(task));
    const deadBox = el("section", { hidden: true }, el("h2", {}, "Dead letters"), el("p", { class: "hint" }, "Nobody gets these any more: out of attempts, or lost with a worker. A person must say what becomes of each."), dead.node);
    /** @param {Task} task */
    const requeue = async (task) => {
        if (!confirm(`Run ${plain(task.tool)} again? Only if you are sure that it did not take effect.`)) return;
        await post("/v1/tasks/{id}/requeue", { digest: task.digest ?? "" }, { id: task.id }).then(() => toast("It is back in the queue."), (problem) => toast(`That did not work: ${problem.message}.`));
        await Promise.all([table.reload(), load()]);
    };
    /** @type {Worker[] | null} */
    let shown = null;
    /** Workers that did not change stay in the page, and with them the focus. @param {Worker[]} now */
    const drawWorkers = (now) => {
        if (!same(shown, now)) fill(workers, workersView(now));
        shown = now;
    };
    const load = async () => {
        try {
            const [seen, waiting, lost] = await Promise.all([get("/v1/workers"), get("/v1/tasks", { query: { state: "waiting", limit: 200 } }), get("/v1/tasks", { query: { state: "dead", limit: 200 } })]);
            fill(summary, summaryView(waiting, lost));
            drawWorkers(seen.workers);
            deadBox.hidden = !lost.tasks.length;
            if (!lost.tasks.length) dead.clear();
            else if (dead.body.childElementCount <= 50) await dead.refresh();
        } catch (problem) {
            fill(summary, problemView(problem, load));
        }
    };
    state.addEventListener("change", () => void table.reload());
    const timer = setInterval(() => {
        if (document.hidden) return;
        void load();
        if (table.body.childElementCount <= 50) void table.refresh();
    }, AGAIN_MS);
    const node = el("div", { class: "page" }, pageHead("Workers and queue", "Calls that workers do, and who does them."), summary, workers, deadBox, el("h2", {}, "Queue"), el("form", { class: "filters", "aria-label": "Filters" }, field("State", state)), table.node);
    return {
        node,
        open: () => {
            void load();
            void table.reload();
        },
        // Dead letters stand above the queue; both are one list for whoever goes through them.
        key: (event) => step(node, LINES, event),
        close: () => {
            clearInterval(timer);
            table.close();
            dead.close();
        },
    };
}

/** @param {import("./api-types").TaskPage} waiting @param {import("./api-types").TaskPage} dead */
function summaryView(waiting, dead) {
    const oldest = Math.min(...waiting.tasks.map((task) => Date.parse(task.available_at ?? task.created_at)));
    const lag = Number.isFinite(oldest) ? duration(Math.max(0, now() - oldest)) : "none";
    return el("dl", { class: "facts inline big" },
        fact("Waiting", `${waiting.tasks.length}${waiting.next ? "+" : ""}`),
        fact("Lag", lag),
        fact("Dead letters", el("b", { class: dead.tasks.length ? "bad" : "" }, `${dead.tasks.length}${dead.next ? "+" : ""}`)));
}

/** @param {Worker[]} workers */
function workersView(workers) {
    if (!workers.length) return el("p", { class: "hint" }, "No worker asked for tasks yet.");
    return el("div", { class: "table-box", tabindex: "0", role: "region", "aria-label": "Workers" }, el("table", { class: "list-table" }, el("caption", { class: "hidden" }, "Workers"),
        el("thead", {}, el("tr", {}, ...["Worker", "Tools", "Seen", "Has now"].map((name) => el("th", { scope: "col" }, name)))),
        el("tbody", {}, ...workers.map((worker) => el("tr", {}, el("td", { "data-label": "Worker" }, el("b", {}, worker.name)), el("td", { "data-label": "Tools" }, worker.tools.join(", ") || "any"), el("td", { "data-label": "Seen" }, since(worker.seen_at)), el("td", { "data-label": "Has now" }, `${worker.leases} ${worker.leases === 1 ? "task" : "tasks"}`))))));
}

/**
 * @param {string} label
 * @param {() => string} state
 * @param {string} none
 * @param {(task: Task) => void} requeue
 * @returns {PagedTable<Task>}
 */
function taskTable(label, state, none, requeue) {
    return new PagedTable({
        label,
        columns: ["Tool", "State", "Run", "Worker", "Attempts", "Opened", ""],
        row: (task) => [
            el("b", { class: "tool" }, task.tool),
            el("span", {}, STATES[task.state], task.leased_until ? [" ", countdown(task.leased_until)] : "", task.deadline ? [" ", countdown(task.deadline)] : ""),
            el("a", { href: `#/runs/${encodeURIComponent(task.run_id)}`, title: task.run_id }, shortId(task.run_id)),
            task.worker ?? "",
            `${task.attempts} of ${task.attempts_max}`,
            since(task.created_at),
            task.state === "dead" ? el("div", { class: "row" },
                el("a", { href: `#/inbox/${encodeURIComponent(task.id)}` }, "Decide"),
                may("admin") && button("Requeue", () => requeue(task), { class: "small", "aria-label": `Requeue ${task.tool}`, title: "Run it again, as if somebody had answered that it did not happen" })) : "",
        ],
        load: async (cursor) => {
            const page = await get("/v1/tasks", { query: { limit: 50, cursor, state: state() } });
            return { items: page.tasks, next: page.next };
        },
        none,
    });
}
