// One question: what will run, with what, why it is asked, until when; and what a person can say.

import { get, session } from "./api.js";
import { AnswerForms } from "./answer.js";
import { conversationView, resultView } from "./conversation.js";
import { copyButton, el, fill } from "./dom.js";
import { same } from "./json.js";
import { problemView, setTitle } from "./shell.js";
import { countdown, since, when } from "./time.js";
import { hasFields, toolOf } from "./tools.js";
import { rawView, textView, valueView } from "./value.js";
import { isSame, waiting } from "./waiting.js";

/** @typedef {import("./waiting.js").Question} Question */

/** @type {Record<import("./api-types").DoubtCause, string>} */
const CAUSES = {
    crashed: "The process that ran it died between its start and its result.",
    lease_lapsed: "The worker that had it stopped answering.",
    worker_failed: "The worker that had it said that it failed after it had started.",
    out_of_attempts: "It was started as often as it may be.",
    needs_input: "The tool asks something before it goes on.",
};

/**
 * What somebody did who answered: the same word means another thing for another question.
 * @param {Question} question
 * @param {import("./api-types").DecisionWord} decision
 * @returns {string}
 */
export function saidOf({ kind }, decision) {
    const asks = kind === "input";
    /** @type {Record<import("./api-types").DecisionWord, string>} */
    const words = {
        allow: asks ? "let it go on" : kind === "doubt" ? "said that it did not happen, so that it runs" : "approved",
        deny: kind === "permission" ? "refused" : "gave it up",
        answer: asks ? "answered what the tool asked" : "answered in the tool's place",
        happened: "said that it happened",
    };
    return words[decision];
}

export class QuestionPage {
    /** @param {string} id */
    constructor(id) {
        this.id = id;
        /** @type {Question | null} */
        this.question = null;
        /** @type {AnswerForms | null} */
        this.forms = null;
        this.closed = false;
        this.body = el("div", { class: "question-body" });
        this.notice = el("div", { class: "notice-place", role: "status", "aria-live": "assertive" });
        const back = el("a", { href: "#/inbox", class: "back" }, "← All questions");
        this.node = el("article", { class: "question", tabindex: "-1" }, back, this.notice, this.body);
        void this.load();
    }

    async load() {
        const known = waiting.find(this.id);
        if (known) this.show(known);
        else fill(this.body, el("p", { class: "blank" }, "Looking…"));
        if (known) return;
        try {
            const found = await waiting.look(this.id);
            if (this.closed) return;
            if (found) this.show(found);
            else fill(this.body, el("p", { class: "blank" }, "There is no such question, or it is not for you to see."));
        } catch (problem) {
            if (!this.closed) fill(this.body, problemView(problem, () => void this.load()));
        }
    }

    focus() {
        this.node.focus({ preventScroll: true });
    }

    close() {
        this.closed = true;
        this.forms?.close();
    }

    /**
     * Something happened to it while it is open.
     * @param {Question} now
     */
    changed(now) {
        const before = this.question;
        if (this.forms?.sending) return;
        if (!before || before.status !== now.status || !isSame(before, now)) this.replace(now);
        else this.update(now);
    }

    /** Compares what is shown with what is known by now. One that is no longer listed is looked up. */
    recheck() {
        const known = waiting.find(this.id);
        if (known) return void (known === this.question || this.changed(known));
        if (this.question?.status !== "pending" || this.forms?.sending) return;
        void waiting.look(this.id).then((now) => now && !this.closed && this.changed(now), () => null);
    }

    /** Another question, or the end of this one: what was shown must not be answered any more. @param {Question} now */
    replace(now) {
        const { question: before } = this;
        if (before?.status === "pending" && now.status !== "pending") this.say(endedView(now, "meanwhile"), "changed");
        else if (before && now.status === "pending") this.say(el("p", {}, el("b", {}, `${renewal(before, now)} `), "What waits now is shown below. Nothing was sent for it."), "changed");
        const focused = this.node.contains(document.activeElement);
        this.show(now);
        if (focused) this.focus();
    }

    /** The same question, with what came since. @param {Question} now */
    update(now) {
        const before = this.question;
        this.question = now;
        if (!same(before?.answers, now.answers)) this.body.querySelector(".quorum")?.replaceWith(quorumView(now));
        if (!same(before?.doubt, now.doubt)) this.body.querySelector(".doubt-box")?.replaceWith(doubtView(now));
        this.forms?.update(now);
    }

    /**
     * @param {Node} content
     * @param {string} kind
     */
    say(content, kind) {
        fill(this.notice, el("div", { class: `notice ${kind}` }, content));
    }

    /** @param {Question} question */
    show(question) {
        this.question = question;
        this.forms?.close();
        setTitle(`${question.tool}: ${question.reason ?? "question"}`);
        const doubt = question.kind !== "permission";
        const description = el("p", { class: "description" });
        void toolOf(question.agent, question.tool).then((tool) => {
            if (tool) fill(description, tool.description);
        });
        const pending = question.status === "pending";
        this.forms = new AnswerForms(question, this);
        fill(
            this.body,
            el("header", { class: "q-head" },
                el("div", { class: "q-what" },
                    el("p", { class: "q-lead" }, leadOf(question)),
                    el("h1", { class: "q-tool" }, question.tool),
                    question.name !== question.tool && el("p", { class: "hint" }, "The model wrote ", el("code", {}, question.name), "."),
                    description),
                pending && (!doubt || question.deadline) && el("div", { class: "q-until" }, countdown(question.deadline), question.deadline ? el("span", { class: "hint" }, "until ", when(question.deadline)) : ""),
            ),
            doubt && doubtView(question),
            !(doubt && question.doubt) && el("p", { class: "q-why" }, el("span", { class: "hint" }, "Asked because "), el("b", {}, question.reason ?? "no reason is given"), question.rule && el("span", { class: "hint" }, ` (${question.rule} of the policy)`)),
            question.again && question.kind === "permission" && el("p", { class: "q-why" }, "It was asked before. The tool, its arguments or the rule has changed since."),
            el("section", { class: "q-args", "aria-label": "Arguments" }, el("h2", { class: "sub" }, "With these arguments"), valueView(question.arguments)),
            el("dl", { class: "facts" },
                fact("Asked by", el("b", {}, question.requester ?? "unknown"), ` through ${question.agent ?? "an agent"}, `, since(question.created_at), question.session ? ` in the session ${question.session}` : ""),
                question.approvers && question.approvers.length > 0 && fact("Who may answer", `people with the role ${question.approvers.join(" or ")}`, question.four_eyes ? ", but not the one who started the run" : ""),
                (question.quorum > 1 || (question.answers?.length ?? 0) > 0) && quorumView(question),
            ),
            pending ? this.forms.node : endedView(question, "before"),
            conversationBox(question),
            el("details", { class: "more" }, el("summary", {}, "Digest, ids and raw JSON"),
                el("dl", { class: "facts small" },
                    fact("Digest", el("code", {}, question.digest), el("p", { class: "hint" }, "Your answer counts for exactly this question, and for no other about this call.")),
                    fact("Idempotency key", el("code", {}, question.idempotency_key)),
                    fact("Run", el("a", { href: `#/runs/${encodeURIComponent(question.run_id)}` }, question.run_id), `, turn ${question.turn}`),
                    fact("Runs as", question.tool_source),
                ),
                rawView(question)),
        );
    }

    /** Closes what is open. */
    escape() {
        return this.forms?.collapse() ?? false;
    }

    /** @param {KeyboardEvent} event @returns {boolean} */
    key(event) {
        return this.forms?.key(event) ?? false;
    }
}

/** @param {Question} question */
function leadOf(question) {
    if (question.status !== "pending") return `This question is ${question.status}`;
    if (question.kind === "input") return "A tool asks you";
    if (question.kind === "doubt") return "Nobody knows whether this took effect";
    return `${question.agent ?? "An agent"} wants to run`;
}

/**
 * @param {string} name
 * @param {...import("./dom.js").Child} children
 */
export function fact(name, ...children) {
    return el("div", { class: "fact" }, el("dt", {}, name), el("dd", {}, ...children));
}

/** @param {Question} question */
function quorumView(question) {
    const given = question.answers ?? [];
    const doubt = question.kind !== "permission";
    const said = given.map(({ actor, decision, result }) => el("li", {}, `${actor ?? "somebody"} ${saidOf(question, decision)}`, result ? resultView(result) : ""));
    const names = given.map(({ actor }) => actor ?? "somebody").join(", ");
    const node = fact(doubt ? "Answers" : "Approvals", el("b", {}, `${given.length} of ${question.quorum ?? 1}`), doubt && given.length ? el("ul", {}, ...said) : names ? `: ${names}` : ": nobody yet", doubt ? el("p", { class: "hint" }, "It counts once so many people say the same.") : "");
    node.classList.add("quorum");
    return node;
}

/**
 * What is different about a question that came in the place of another.
 * @param {Question} before
 * @param {Question} now
 */
export function renewal(before, now) {
    if (now.kind === "input") return "The tool was started and asks something.";
    if (now.kind === "doubt") return "The call was started meanwhile, and nobody knows whether it took effect.";
    if (JSON.stringify(before.arguments) !== JSON.stringify(now.arguments)) return "The call changed meanwhile.";
    const terms = (/** @type {Question} */ { approvers, quorum, four_eyes }) => JSON.stringify([approvers, quorum, four_eyes]);
    if (terms(before) !== terms(now)) return "It is asked once more: the rule for it is stricter now.";
    return "It is asked once more: the tool has changed.";
}

/**
 * Where a tool sends people, if that is what it asks for: an address on the last line, and nothing to write.
 * @param {Question} question
 * @returns {URL | null}
 */
export function linkOf(question) {
    const asks = question.doubt?.asks;
    const last = (asks?.message ?? "").split("\n").at(-1)?.trim() ?? "";
    if (hasFields(asks?.schema) || !URL.canParse(last)) return null;
    const url = new URL(last);
    return ["http:", "https:"].includes(url.protocol) ? url : null;
}

/** What a tool asks. An address is shown and never made a link: whoever goes there looks at it first. @param {Question} question */
function asksView(question) {
    const asks = question.doubt?.asks;
    const link = linkOf(question);
    return el(
        "section",
        { class: "doubt-box", "aria-label": "What the tool asks" },
        el("p", {}, el("b", {}, "The tool asks:")),
        textView(asks?.message ?? ""),
        link && el("p", {}, "It wants you to go to ", el("b", {}, link.host), " and do something there. Open the address yourself if you trust it, in another window. When you are done, come back and say so here."),
        link && copyButton(link.href, "Copy the address"),
        rawView(asks, "What the tool sent"),
    );
}

/** What is known of a call in doubt. @param {Question} question */
function doubtView(question) {
    const { doubt } = question;
    if (doubt?.cause === "needs_input") return asksView(question);
    return el(
        "section",
        { class: "doubt-box", "aria-label": "What is known" },
        el("p", {}, doubt ? CAUSES[doubt.cause] : "It has no result.", " It may have taken effect, or not. Look it up where it would be seen, for example with the idempotency key, before you answer."),
        el("dl", { class: "facts small" },
            fact("Started", question.started_at ? when(question.started_at) : "unknown", question.started_at ? el("span", { class: "hint" }, " ", since(question.started_at)) : ""),
            fact("Where", doubt?.worker ? `worker ${doubt.worker}` : "in the server", `, attempt ${doubt?.attempt ?? 1}`),
            fact("Idempotency key", el("code", {}, question.idempotency_key)),
        ),
        ...(doubt?.evidence ?? []).map((late) => el("div", { class: "evidence" }, el("p", {}, el("b", {}, "A result came too late to count"), ` from ${late.worker}, `, when(late.at)), rawView(late.result, "What it said"))),
    );
}

/**
 * What became of a question.
 * @param {Question} question
 * @param {"meanwhile" | "before"} how
 */
export function endedView(question, how) {
    const answer = question.answer;
    const lead = how === "meanwhile" ? "Answered meanwhile. " : "";
    if (question.status === "expired") {
        return el("div", { class: "ended" }, el("p", {}, el("b", {}, how === "meanwhile" ? "It expired meanwhile. " : "It expired. "), "Nobody answered in time, and the model was told so. Nothing can be sent any more."));
    }
    if (!answer) return el("div", { class: "ended" }, el("p", {}, el("b", {}, lead || "Over. "), "The run went on without an answer, for example because it was cancelled. Nothing can be sent any more."));
    const who = answer.actor === session.who?.name ? "You" : answer.actor ?? "Somebody";
    return el(
        "div",
        { class: "ended" },
        el("p", {}, el("b", {}, lead), `${who} ${saidOf(question, answer.decision)}${answer.edited ? " with other arguments" : ""}, `, when(answer.at), answer.reason ? `: ${answer.reason}` : "", how === "meanwhile" && who !== "You" ? ". You sent nothing." : "."),
        el("p", {}, el("a", { href: `#/runs/${encodeURIComponent(question.run_id)}` }, "See the run")),
    );
}

/** What the run was about, read only when it is wanted. @param {Question} question */
function conversationBox(question) {
    const box = el("details", { class: "more", open: true }, el("summary", {}, "What the run is about"));
    const place = el("div", {});
    box.append(place);
    void get("/v1/runs/{id}/messages", { id: question.run_id }).then(
        (answer) => fill(place, conversationView(upTo(answer.messages, question), { last: 6 })),
        (problem) => fill(place, el("p", { class: "hint" }, problem.status === 403 || problem.status === 404 ? "Your token may not read the conversation: that needs the role read." : `The conversation cannot be shown: ${problem.message}.`)),
    );
    return box;
}

/**
 * The conversation until the model asked for the call. What came later is in the run.
 * @param {import("./api-types").MessageView[]} messages
 * @param {Question} question
 */
function upTo(messages, question) {
    const asks = (/** @type {import("./api-types").MessageView} */ message) => (message.calls ?? []).some((call) => call.id === question.call_id && call.name === question.name);
    const index = messages.findLastIndex(asks);
    return index < 0 ? messages : messages.slice(0, index + 1);
}
