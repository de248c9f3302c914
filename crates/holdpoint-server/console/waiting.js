// Everything that waits for a person, kept current: the list page by page, and every change as it happens.

import { Problem, follow, get, may } from "./api.js";
import { showConnection, showCount } from "./shell.js";
import { compareMoments } from "./time.js";
import { forgetTools } from "./tools.js";
import { plain } from "./visible.js";

/** How many questions are asked for at once; more where a page had none that this person may see. */
const PAGE = 50;
const PAGE_MAX = 200;
/** How many questions that are over are kept, for whoever goes back to one. */
const ENDED_MAX = 100;
/** How long to wait before a page that could not be read is asked for again, at first and at most. */
const AGAIN_MS = 2_000;
const AGAIN_MS_MAX = 30_000;
/** How many notifications are shown at once, and how long one counts if nobody says that it is gone. */
const NOTICES_MAX = 3;
const NOTICE_MS = 60_000;
/** The connection's name in the banner. */
const LINE = "inbox";

/** @type {{ page: Promise<import("./api-types").ApprovalPage> | null }} What was asked for before it was known who asks. */
const early = { page: null };

/** Asks for the first page while the page still finds out who is signed in: most who come have something waiting. */
export function askEarly() {
    early.page = get("/v1/approvals", { query: { limit: PAGE } });
    // Who is not signed in, or may not see it, is told elsewhere.
    early.page.catch(() => {
        early.page = null;
    });
}

/** @typedef {import("./api-types").ApprovalView} Question */

/**
 * Whether two looks show one question. A call keeps its id when it is asked about once more: because it was started and
 * nobody knows what became of it, because its tool asks something, or because its tool or the rule has changed. Each of
 * these questions has a digest of its own.
 * @param {Question} a
 * @param {Question} b
 */
export function isSame(a, b) {
    return a.digest === b.digest;
}

class Waiting extends EventTarget {
    constructor() {
        super();
        /** @type {Map<string, Question>} Those that wait. */
        this.pending = new Map();
        /** @type {Map<string, Question>} Those that were answered or expired while this page was open, the last ones. */
        this.ended = new Map();
        /** @type {Set<string>} Those that this person approved by hand on this page. */
        this.byHand = new Set();
        /** @type {Question[] | null} */
        this.inOrder = null;
        /** Whose questions are shown; empty: everybody's. */
        this.agent = "";
        /** @type {string | null} */
        this.next = null;
        /** Whether there are more of those that are not shown. */
        this.moreOfOthers = false;
        this.loaded = false;
        this.loading = false;
        this.again = false;
        /** @type {Set<string>} What came by the stream while a page was on its way: the page may be older. */
        this.touched = new Set();
        /** @type {unknown} */
        this.problem = null;
        /** @type {Problem | null} Why the next page cannot be read. It is tried again later. */
        this.stuck = null;
        this.wait = AGAIN_MS;
        /** @type {ReturnType<typeof follow> | null} */
        this.stream = null;
        /** @type {number | undefined} */
        this.last = undefined;
    }

    /** Begins to listen, once. */
    open() {
        if (this.stream || !may("read", "approve")) return;
        this.stream = follow("/v1/approvals/events", {
            after: this.last,
            onEvent: (event) => this.take(event, true),
            onState: (state) => this.heard(state),
            onReset: () => {
                this.last = undefined;
            },
        });
        if (!this.loaded) void this.load();
    }

    /** @param {import("./api.js").StreamState} state */
    heard(state) {
        showConnection(LINE, state);
        if (state !== "live") return;
        // The server may be another one by now, with other tools.
        forgetTools();
        // A stream that has a number goes on where it broke. One that has none begins now: the list says what was before.
        if (!this.stream?.last || this.problem) void this.load();
    }

    /** A page that nobody sees leaves its connection to others, unless it may notify: browsers have few for one server. */
    rest() {
        if (!this.stream || mayNotify()) return;
        this.last = this.stream.last === null ? undefined : Number(this.stream.last);
        this.stream.close();
        this.stream = null;
        showConnection(LINE, "closed");
    }

    /** Shows only the questions of one agent, or everybody's. @param {string} agent */
    only(agent) {
        if (!this.agent) this.moreOfOthers = Boolean(this.next);
        this.agent = agent;
        this.next = null;
        this.loaded = false;
        this.tell();
        void this.load();
    }

    /** The first page, again if need be. */
    async load() {
        if (this.loading) {
            this.again = true;
            return;
        }
        this.loading = true;
        this.again = false;
        this.touched.clear();
        try {
            await this.loadFirst();
            // What was asked for may not be what is wanted by now.
            this.loaded ||= !this.again;
            this.problem = null;
        } catch (problem) {
            this.problem = problem;
        }
        this.finish();
    }

    async loadFirst() {
        const { agent } = this;
        const asked = agent ? null : early.page;
        early.page = null;
        const page = await (asked ?? get("/v1/approvals", { query: { limit: PAGE, agent } }));
        if (agent !== this.agent) return;
        const there = new Set(page.approvals.map((question) => question.id));
        for (const [id, question] of this.pending) {
            const covered = !agent || question.agent === agent;
            if (covered && !there.has(id) && !this.touched.has(id)) this.pending.delete(id);
        }
        await this.takePage(page, agent);
    }

    /**
     * Takes a page, and goes on while there is nothing on it for this person to see: the server cuts pages before it leaves
     * out what is for others.
     * @param {import("./api-types").ApprovalPage} page
     * @param {string} agent
     */
    async takePage(page, agent) {
        for (;;) {
            for (const question of page.approvals) this.keep(question);
            this.next = page.next ?? null;
            if (page.approvals.length || !page.next) return;
            page = await get("/v1/approvals", { query: { limit: PAGE_MAX, agent, cursor: page.next } });
            if (agent !== this.agent) return;
        }
    }

    /** The next page, when somebody scrolls there. */
    async more() {
        if (this.loading || this.stuck || !this.next) return;
        this.loading = true;
        const { agent } = this;
        try {
            const page = await get("/v1/approvals", { query: { limit: PAGE, agent, cursor: this.next } });
            if (agent === this.agent) await this.takePage(page, agent);
            this.wait = AGAIN_MS;
        } catch (problem) {
            this.notRead(problem);
        }
        this.finish();
    }

    /** A page could not be read. It is asked for again after a while, and not at every drawing. @param {unknown} problem */
    notRead(problem) {
        if (problem instanceof Problem && problem.code === "invalid_cursor") {
            this.again = true;
            return;
        }
        this.stuck = problem instanceof Problem ? problem : new Problem(0, null);
        setTimeout(() => {
            this.stuck = null;
            this.tell();
        }, Math.max(this.wait, this.stuck.retryMs));
        this.wait = Math.min(this.wait * 2, AGAIN_MS_MAX);
    }

    /** What was asked for is there, or not to be had. */
    finish() {
        this.loading = false;
        this.tell();
        if (this.again) void this.load();
    }

    /** @param {Question} question @returns {boolean} whether it is one that did not wait before */
    keep(question) {
        const known = this.pending.get(question.id) ?? this.ended.get(question.id);
        if (known && compareMoments(known.changed_at, question.changed_at) > 0) return false;
        this.touched.add(question.id);
        if (!known || !isSame(known, question)) this.byHand.delete(question.id);
        this.ended.delete(question.id);
        if (question.status !== "pending") {
            this.pending.delete(question.id);
            this.ended.set(question.id, question);
            for (const id of this.ended.keys()) if (this.ended.size > ENDED_MAX) this.ended.delete(id);
            return false;
        }
        this.pending.set(question.id, question);
        return !known || known.status !== "pending" || !isSame(known, question);
    }

    /** @param {Question} question @param {boolean} live */
    take(question, live) {
        const fresh = this.keep(question);
        if (fresh && live) notify(question);
        // What comes late may be older than what a look found meanwhile.
        this.tell(this.find(question.id) ?? question);
    }

    /** @param {Question} [changed] */
    tell(changed) {
        this.inOrder = null;
        showCount(this.pending.size, Boolean(this.next) || (Boolean(this.agent) && this.moreOfOthers));
        this.dispatchEvent(new CustomEvent("change", { detail: changed ?? null }));
    }

    /** Those that wait, in the order in which they are shown. Many may change before somebody looks. */
    get sorted() {
        this.inOrder ??= [...this.pending.values()].filter((question) => !this.agent || question.agent === this.agent).sort(earlier);
        return this.inOrder;
    }

    /** @param {string} id */
    find(id) {
        return this.pending.get(id) ?? this.ended.get(id) ?? null;
    }

    /**
     * A question as the server has it now, whatever became of it.
     * @param {string} id
     * @returns {Promise<Question | null>}
     */
    async look(id) {
        const run = id.slice(0, id.lastIndexOf(".b"));
        // One that comes back to those that wait between two of these looks is found by the last.
        for (const status of ["pending", "answered", "expired", "pending"]) {
            const found = await this.lookAmong(id, { run, status });
            if (found) {
                this.keep(found);
                return found;
            }
        }
        return null;
    }

    /** @param {string} id @param {{ run: string, status: string }} where @returns {Promise<Question | null>} */
    async lookAmong(id, where) {
        /** @type {string | null} */
        let cursor = null;
        do {
            /** @type {import("./api-types").ApprovalPage} */
            const page = await get("/v1/approvals", { query: { ...where, limit: PAGE_MAX, cursor } });
            const found = page.approvals.find((question) => question.id === id);
            if (found) return found;
            cursor = page.next ?? null;
        } while (cursor);
        return null;
    }
}

/** The earliest deadline first, then what was asked first. @param {Question} a @param {Question} b */
function earlier(a, b) {
    if (Boolean(a.deadline) !== Boolean(b.deadline)) return a.deadline ? -1 : 1;
    const order = (a.deadline && b.deadline && compareMoments(a.deadline, b.deadline)) || compareMoments(a.created_at, b.created_at);
    return order || (a.id < b.id ? -1 : 1);
}

/** @type {Set<string>} What is shown as a notification. */
const notices = new Set();

function mayNotify() {
    return "Notification" in window && Notification.permission === "granted";
}

/** @param {Question} question */
function notify(question) {
    if (!document.hidden || !mayNotify() || !question.answerable || notices.size >= NOTICES_MAX) return;
    try {
        showNotice(question);
    } catch {
        // Some browsers, those of Android among them, know of notifications and let no page show one.
    }
}

/** @param {Question} question */
function showNotice({ id, tool, reason }) {
    // No arguments: a notification may be seen by others.
    const notice = new Notification(`${plain(tool)} waits for you`, { body: plain(reason ?? ""), tag: id });
    const gone = () => notices.delete(id);
    notices.add(id);
    // Not every system says when one is gone.
    setTimeout(gone, NOTICE_MS);
    notice.onclose = gone;
    notice.onclick = () => {
        window.focus();
        location.hash = `#/inbox/${encodeURIComponent(id)}`;
        notice.close();
    };
}

export const waiting = new Waiting();
document.addEventListener("visibilitychange", () => (document.hidden ? waiting.rest() : waiting.open()));
