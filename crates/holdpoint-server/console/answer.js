// What a person can say to a question. Everything is sent with the digest of what was shown, after one more look whether it
// is still what waits.

import { Problem, Written, post, session } from "./api.js";
import { button, el, field, fill, select } from "./dom.js";
import { changes, parse, print } from "./json.js";
import { linkOf, renewal, saidOf } from "./question.js";
import { problems } from "./schema.js";
import { forgetTools, hasFields, schemaFields, toolOf } from "./tools.js";
import { cut, inline } from "./value.js";
import { escaped, isOdd } from "./visible.js";
import { isSame, waiting } from "./waiting.js";

/** @typedef {import("./waiting.js").Question} Question */
/** @typedef {import("./question.js").QuestionPage} QuestionPage */

/** How long after the last letter arguments are checked; large ones take longer to read. */
const CHECK_MS = 120;
/** How many lines the editor has at most before it scrolls. */
const EDIT_ROWS_MAX = 14;
/** How much of what a tool asks is repeated above the fields. All of it stands in the question. */
const MESSAGE_MAX = 400;
/** How often an answer is sent while the run moves under it, and how long to wait in between. Each time follows a new look. */
const TRIES_MAX = 4;
const TRY_MS = 150;
/** Codes that mean: somebody else was faster, or the run went on. */
const TOO_LATE = new Set(["stale_continuation", "unknown_tool_call", "conflicting_decision", "wrong_pause", "run_cancelled", "not_expected", "conflicting_result"]);
/** What the server says when it, or something before it, broke in the middle: it may have done what it was asked. */
const BROKEN = new Set([0, 500, 502, 504]);

/** @typedef {"approve" | "edit" | "refuse" | "supply" | "remember" | "happened"} FormName */
/** @typedef {{ decision: import("./api-types").DecisionWord, reason?: string | null, arguments?: Written, result?: Written, remember?: unknown }} Answer */

export class AnswerForms {
    /**
     * @param {Question} question
     * @param {QuestionPage} page
     */
    constructor(question, page) {
        this.question = question;
        this.page = page;
        this.sending = false;
        /** @type {FormName | null} */
        this.open = null;
        this.place = el("div", { class: "form-place" });
        this.bar = el("div", { class: "answer-bar", role: "group", "aria-label": "Answer" });
        this.node = el("section", { class: "reply", "aria-label": "Your answer" }, this.place, this.bar);
        this.approve = this.approveButton();
        this.drawBar();
    }

    close() {
        this.node.remove();
    }

    /** @param {Question} question */
    update(question) {
        this.question = question;
        if (!this.open) this.drawBar();
    }

    get doubtful() {
        return this.question.kind === "doubt";
    }

    get asksInput() {
        return this.question.kind === "input";
    }

    /** Whether this person approved it already, and waits for others. */
    get mine() {
        return (this.question.answers ?? []).some((one) => one.actor === session.who?.name);
    }

    /** A tool that sends people somewhere, or wants no more than a yes, is answered without writing anything. */
    get asksNothing() {
        return this.asksInput && (linkOf(this.question) !== null || this.question.quorum > 1);
    }

    approveButton() {
        const link = this.asksInput && linkOf(this.question);
        const label = this.doubtful ? "It did not happen: run it" : link ? "I have done that: go on" : this.asksInput ? "Go on without an answer" : "Approve";
        return button(label, () => void this.send({ decision: "allow" }), { class: this.doubtful || (this.asksInput && !this.asksNothing) ? "" : "primary", "aria-keyshortcuts": "a" });
    }

    drawBar() {
        const focused = this.bar.contains(document.activeElement) ? document.activeElement?.textContent : null;
        fill(this.bar, this.barContent());
        if (focused) [...this.bar.querySelectorAll("button")].find((one) => one.textContent === focused)?.focus();
    }

    /** @returns {import("./dom.js").Child[]} */
    barContent() {
        const { question } = this;
        if (!question.answerable) {
            const mine = session.who?.approves_as.length ? `You approve as ${session.who.approves_as.join(", ")}.` : "Your token approves as nobody in particular.";
            return [el("p", { class: "hint" }, question.approvers?.length ? `This is for people with the role ${question.approvers.join(" or ")}. ${mine}` : "You may look at this, and somebody else must answer it.")];
        }
        if (this.mine) return this.approvedContent();
        if (this.doubtful) return [this.doubtChoices()];
        return this.asksInput ? this.inputContent() : this.confirmContent();
    }

    /** One's own word cannot be taken back. What a grant said can be: it is about many calls, and this is one of them. */
    approvedContent() {
        const said = el("p", {}, el("b", {}, "You approved. "), "It waits for somebody else too.");
        if (waiting.byHand.has(this.question.id)) return [said];
        return [said, el("p", { class: "hint" }, "If a grant of yours said so, you can still refuse this one:"), this.opener("refuse", "Refuse…", "d")];
    }

    inputContent() {
        const write = !this.asksNothing && this.opener("supply", "Answer…", "s", "primary");
        const several = this.question.quorum > 1 && el("p", { class: "hint" }, "Several people must approve this, so that nobody can answer for all: it goes on without an answer.");
        return [several, write, this.approve, this.opener("refuse", "Give it up…", "d", "danger"), this.opener("happened", "It happened…", "h", "second")];
    }

    confirmContent() {
        return [
            this.approve,
            this.opener("refuse", "Refuse…", "d", "danger"),
            // A small screen shows the rest when it is wanted: what would run must stay in sight.
            button("More…", () => this.bar.classList.add("all"), { class: "only-small" }),
            this.opener("edit", "Edit arguments…", "e", "second"),
            !(this.question.quorum > 1) && this.opener("supply", "Answer in its place…", "s", "second"),
            this.opener("approve", "Approve with a reason…", "r", "second"),
            this.opener("remember", "Approve and remember…", "m", "second"),
        ];
    }

    /**
     * @param {FormName} name
     * @param {string} label
     * @param {string} key
     * @param {string} [kind]
     */
    opener(name, label, key, kind = "") {
        return button(label, () => this.show(name), { class: kind, "aria-keyshortcuts": key, "aria-expanded": this.open === name ? "true" : "false" });
    }

    /** The three answers to a doubt, in plain words. */
    doubtChoices() {
        const choice = (/** @type {string} */ text, /** @type {HTMLElement} */ control) => el("div", { class: "choice" }, el("p", {}, text), control);
        return el(
            "div",
            { class: "choices" },
            choice("You are sure that nothing happened. The tool is started once more, with the same idempotency key.", this.approve),
            choice("It did take effect. You say what the result was, and the tool is not started again.", this.opener("happened", "It happened…", "s")),
            choice("You do not know, or it should not happen any more. The model is told that the call was given up.", this.opener("refuse", "Give it up…", "d", "danger")),
        );
    }

    /** @param {FormName} name */
    show(name) {
        if (this.sending || !this.question.answerable) return;
        this.open = name;
        const forms = { approve: () => this.approveForm(), edit: () => this.editForm(), refuse: () => this.refuseForm(), supply: () => (this.asksInput ? this.inputForm() : this.supplyForm("answer")), remember: () => this.rememberForm(), happened: () => this.supplyForm("happened") };
        fill(this.place, forms[name]());
        this.bar.hidden = true;
        this.place.scrollIntoView({ block: "nearest" });
        /** @type {HTMLElement | null} */ (this.place.querySelector("textarea, input, select, button"))?.focus();
    }

    /** Closes the open form; says whether there was one. */
    collapse() {
        if (!this.open) return false;
        this.open = null;
        this.place.replaceChildren();
        this.bar.hidden = false;
        this.drawBar();
        /** @type {HTMLElement | null} */ (this.bar.querySelector("button"))?.focus();
        return true;
    }

    /** @param {KeyboardEvent} event @returns {boolean} */
    key(event) {
        if (this.open || this.sending || !this.question.answerable || this.question.status !== "pending") return false;
        // A letter does what the button does that shows it. To approve it only goes there: one letter approves nothing.
        const wanted = [...this.bar.querySelectorAll("button")].find((one) => one.getAttribute("aria-keyshortcuts") === event.key);
        if (event.key === "a") wanted?.focus();
        else wanted?.click();
        return Boolean(wanted);
    }

    /**
     * @param {string} title
     * @param {HTMLElement} submit
     * @param {...import("./dom.js").Child} children
     */
    form(title, submit, ...children) {
        const form = el("form", { class: "answer-form", "aria-label": title, novalidate: true }, el("h3", {}, title), ...children, el("div", { class: "row" }, submit, button("Back", () => this.collapse(), { class: "quiet" })));
        return form;
    }

    refuseForm() {
        const reason = reasonBox("for example: the customer was already paid");
        const gives = this.question.kind !== "permission";
        const submit = el("button", { type: "submit", class: "danger" }, gives ? "Give it up" : "Refuse");
        const form = this.form(gives ? "Give the call up" : "Refuse", submit, field("Reason", reason, "The model is told this, word for word."));
        return this.onSubmit(form, () => ({ decision: "deny", reason: reason.value.trim() || null }));
    }

    approveForm() {
        const reason = reasonBox("for example: seen the invoice");
        const submit = el("button", { type: "submit", class: "primary" }, "Approve");
        const form = this.form("Approve with a reason", submit, field("Reason", reason, "It is kept with the decision, for those who look later. The model is not told."));
        return this.onSubmit(form, () => ({ decision: "allow", reason: reason.value.trim() || null }));
    }

    /** What is to be remembered: fields, and what they say. */
    rememberFields() {
        const { question } = this;
        const which = select([["these", "exactly these arguments"], ["any", "this tool with any arguments"]], "these");
        /** @type {Array<[string, string]>} */
        const scopes = [["run", "in this run"], ["tenant", session.who?.tenant ? `in every run of ${session.who.tenant}` : "in every run"]];
        if (question.session) scopes.splice(1, 0, ["session", `in the session ${cut(question.session, 40)}`]);
        const scope = select(scopes, "run");
        const until = select([["1h", "for an hour"], ["8h", "for 8 hours"], ["7d", "for 7 days"], ["", "until somebody takes it back"]], "1h");
        return {
            nodes: [field("Calls", which), field("Where", scope), field("How long", until)],
            value: () => ({ arguments: which.value, scope: scope.value, ...(until.value ? { expires_in: until.value } : {}) }),
        };
    }

    rememberForm() {
        const { nodes, value } = this.rememberFields();
        const reason = reasonBox("");
        const submit = el("button", { type: "submit", class: "primary" }, "Approve and remember");
        const form = this.form("Approve, and let it count again", submit, el("p", { class: "hint" }, "The policy is still asked each time. Where it would ask a person, this is your answer. Grants lists it, and takes it back."), ...nodes, field("Reason (optional)", reason));
        return this.onSubmit(form, () => ({ decision: "allow", remember: value(), reason: reason.value.trim() || null }));
    }

    /**
     * @param {HTMLFormElement} form
     * @param {() => Answer | null} answer What to send; nothing when it does not fit yet.
     */
    onSubmit(form, answer) {
        form.addEventListener("submit", (event) => {
            event.preventDefault();
            const given = answer();
            if (given) void this.send(given);
        });
        return form;
    }

    /** @param {"answer" | "happened"} decision */
    supplyForm(decision) {
        const kind = select([["text", "text"], ["json", "JSON"], ["error", "an error"]], "text");
        // Where several people must say the same, the next one starts from what the last one said.
        const last = (this.question.answers ?? []).findLast((one) => one.decision === decision)?.result?.blocks[0];
        const text = el("textarea", { rows: "4", spellcheck: "false", required: true, value: last && "text" in last ? last.text : "" });
        const says = el("ul", { class: "checks", "aria-live": "polite" });
        const happened = decision === "happened";
        const submit = el("button", { type: "submit", class: "primary" }, happened ? "It happened, with this result" : "Use this instead of the tool");
        const check = () => {
            const found = kind.value === "json" ? checkText(text.value, null, "any").found : text.value.trim() ? [] : ["write something"];
            fill(says, ...found.map((one) => el("li", {}, one)));
            submit.toggleAttribute("disabled", found.length > 0);
            return !found.length;
        };
        text.addEventListener("input", check);
        kind.addEventListener("change", check);
        check();
        const hint = happened ? "The model gets this as the result of the call. The tool is not started again." : "The tool does not run. The model gets this as its result.";
        const form = this.form(happened ? "It happened: what was the result?" : "Answer in the tool's place", submit, field("Kind", kind), field("Result", text, hint), says);
        return this.onSubmit(form, () => {
            const written = kind.value === "json" ? text.value : JSON.stringify(text.value);
            return check() ? { decision, result: new Written(`{${JSON.stringify(kind.value)}:${written}}`) } : null;
        });
    }

    /** What a tool asks for: a field for each part, with what it proposes. Whoever wants to writes JSON. */
    inputForm() {
        const schema = this.question.doubt?.asks?.schema ?? null;
        const says = el("ul", { class: "checks", "aria-live": "polite" });
        const submit = el("button", { type: "submit", class: "primary" }, "Send the answer");
        const fields = hasFields(schema) ? schemaFields(schema, () => check()) : null;
        const text = el("textarea", { class: "code", rows: "8", spellcheck: "false", value: "{\n  \n}" });
        const written = field("Answer as JSON", text);
        const read = () => (fields && !fields.node.hidden ? fields.text() : text.value);
        const check = () => {
            const { found } = checkText(read(), schema, "any");
            fill(says, ...found.map((one) => el("li", {}, one)));
            submit.toggleAttribute("disabled", found.length > 0);
            return !found.length;
        };
        const raw = fields && button("Write it as JSON", () => {
            text.value = print(checkText(fields.text(), null, "any").value, 2);
            [fields.node.hidden, written.hidden] = [true, false];
            raw?.remove();
            check();
            text.focus();
        }, { class: "quiet small" });
        text.addEventListener("input", check);
        written.hidden = Boolean(fields);
        check();
        const form = this.form("Answer what the tool asks", submit, el("p", {}, cut(String(this.question.doubt?.asks?.message ?? ""), MESSAGE_MAX)), el("p", { class: "hint" }, "The tool gets this and goes on. What you leave out has the value that the tool proposed, if it proposed one."), fields?.node, raw, written, says);
        return this.onSubmit(form, () => (check() ? { decision: "answer", result: new Written(`{"json":${read()}}`) } : null));
    }

    editForm() {
        const before = this.question.arguments;
        const written = escaped(print(before, 2));
        const rows = Math.min(EDIT_ROWS_MAX, written.split("\n", EDIT_ROWS_MAX).length + 1);
        const text = el("textarea", { class: "code", rows, spellcheck: "false", autocapitalize: "off", autocomplete: "off", value: written });
        const says = el("ul", { class: "checks", "aria-live": "polite" });
        const differs = el("div", { class: "differs", "aria-live": "polite" });
        const submit = el("button", { type: "submit", class: "primary", disabled: true }, "Approve with these arguments");
        const remember = this.optionalRemember();
        /** @returns {Answer} */
        const answer = () => ({ decision: "allow", arguments: new Written(text.value), remember: remember.value() });
        // The server judges what it gets in any case. What this page finds may be wrong, and must not stand in the way.
        const anyway = button("Let the server judge", () => void this.send(answer()), { class: "quiet small", hidden: true });
        /** @type {any} */
        let schema = null;
        let timer = 0;
        const check = () => {
            const { found, value } = checkText(text.value, schema, "object");
            const readable = value !== undefined;
            const changed = readable ? changes(before, value) : [];
            fill(says, ...found.map((one) => el("li", {}, one)));
            fill(differs, found.length ? null : changesView(changed), hiddenView(text.value));
            text.setAttribute("aria-invalid", found.length ? "true" : "false");
            submit.toggleAttribute("disabled", found.length > 0 || !changed.length);
            anyway.hidden = !(found.length && changed.length);
            return !found.length && changed.length > 0;
        };
        text.addEventListener("input", () => {
            submit.setAttribute("disabled", "");
            clearTimeout(timer);
            timer = window.setTimeout(check, CHECK_MS);
        });
        // The tool may have changed since the page was opened.
        forgetTools();
        void toolOf(this.question.agent, this.question.tool).then((tool) => {
            schema = tool?.parameters ?? null;
            check();
        });
        const form = this.form("Edit the arguments", submit, el("p", { class: "hint" }, "The policy is asked about what you write. Approvals of the old arguments no longer count."), field("Arguments as JSON", text), says, anyway, differs, remember.node);
        return this.onSubmit(form, () => (check() ? answer() : null));
    }

    /** Whether what is approved is remembered too. */
    optionalRemember() {
        const { nodes, value } = this.rememberFields();
        const box = el("input", { type: "checkbox" });
        const more = el("div", { class: "form", hidden: true }, ...nodes);
        box.addEventListener("change", () => {
            more.hidden = !box.checked;
        });
        return { node: el("div", { class: "form" }, el("label", { class: "check" }, box, " Let it count again for such calls"), more), value: () => (box.checked ? value() : undefined) };
    }

    /**
     * Looks once more, then sends. Whatever comes of it is said, and the focus stays where somebody can go on.
     * @param {Answer} answer
     */
    async send(answer) {
        if (this.sending) return;
        const focused = /** @type {HTMLElement | null} */ (document.activeElement);
        const able = [...this.node.querySelectorAll("button")].filter((control) => !control.disabled);
        this.sending = true;
        this.node.setAttribute("aria-busy", "true");
        for (const control of able) control.disabled = true;
        this.page.say(el("p", {}, "Looking once more, then sending…"), "busy");
        await this.deliver(answer);
        this.sending = false;
        this.node.removeAttribute("aria-busy");
        for (const control of able) control.disabled = false;
        this.settle(focused);
    }

    /** What happened meanwhile was not shown; now it is. @param {HTMLElement | null} focused What had the focus before. */
    settle(focused) {
        if (this.page.closed) return;
        const now = waiting.find(this.question.id);
        if (now) this.page.changed(now);
        const here = document.activeElement;
        if (here && here !== document.body && here.isConnected && !this.node.contains(here)) return;
        if (focused?.isConnected && this.node.contains(focused)) focused.focus();
        else this.page.focus();
    }

    /** @param {Answer} answer */
    async deliver(answer) {
        for (let tries = 1; ; tries++) {
            let now;
            try {
                now = await waiting.look(this.question.id);
            } catch (problem) {
                return this.notSent(problem);
            }
            if (!now) return this.isGone();
            if (!this.isStill(now)) return;
            // The pause that it waits in is the one that is there now.
            this.question = now;
            const problem = await post("/v1/runs/{id}/answers", this.body(answer), { id: now.run_id }).then(() => null, (said) => said);
            if (!problem) return await this.sent(answer);
            if (tries >= TRIES_MAX || !this.isPassing(problem)) return await this.failed(problem);
            await new Promise((resolve) => setTimeout(resolve, TRY_MS * tries));
        }
    }

    /** Whether only the run moved under an answer, for example because somebody answered another call. @param {unknown} problem */
    isPassing(problem) {
        return problem instanceof Problem && problem.code === "stale_continuation";
    }

    isGone() {
        this.page.say(el("p", {}, el("b", {}, "This question is gone. "), "Nothing was sent."), "changed");
    }

    /**
     * Whether what was shown is what waits. If not, that is said and nothing is sent.
     * @param {Question} now
     */
    isStill(now) {
        const before = this.question;
        if (now.status === "pending" && isSame(before, now)) return true;
        this.sending = false;
        this.page.show(now);
        if (now.status === "answered" && isMine(now)) this.sayArrived(now);
        else {
            const what = now.status === "expired" ? "It expired meanwhile." : now.status === "pending" ? renewal(before, now) : `${now.answer?.actor ?? "Somebody"} was faster.`;
            this.page.say(el("p", {}, el("b", {}, `${what} `), now.status === "pending" ? "What would run now is shown below. Nothing was sent." : "Nothing was sent."), "changed");
        }
        waiting.tell(now);
        return false;
    }

    /** What this person said got there, whatever it looked like. @param {Question} now */
    sayArrived(now) {
        this.page.say(el("p", {}, el("b", {}, `Your earlier answer arrived: you ${now.answer ? saidOf(now, now.answer.decision) : "answered"}. `), "Nothing more was sent."), "done");
    }

    /** @param {Answer} answer */
    body(answer) {
        const { call_id, digest, batch_id } = this.question;
        const members = [["call_id", call_id], ["decision", answer.decision], ["digest", digest]];
        if (answer.reason) members.push(["reason", answer.reason]);
        let text = members.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(",");
        // What a person wrote goes as it was written: numbers keep their digits.
        if (answer.arguments) text += `,"arguments":${answer.arguments.text}`;
        if (answer.result) text += `,"result":${answer.result.text}`;
        if (answer.remember) text += `,"remember":${JSON.stringify(answer.remember)}`;
        return new Written(`{"batch_id":${JSON.stringify(batch_id)},"partial":true,"decisions":[{${text}}]}`);
    }

    /** @param {Answer} answer */
    async sent(answer) {
        const before = this.question;
        const now = await waiting.look(before.id).catch(() => null);
        if (answer.decision === "allow") waiting.byHand.add(before.id);
        this.sending = false;
        this.open = null;
        const words = `${saidOf(before, answer.decision)}${answer.arguments ? " with other arguments" : ""}${answer.remember ? ", and it is remembered" : ""}`;
        if (now) this.page.show(now);
        // An edit is a new call to approve; it is still the answer that was given.
        const waits = now?.status === "pending" && (isSame(before, now) || (answer.arguments && now.kind === before.kind));
        const renewed = now?.status === "pending" && !waits ? ` ${renewal(before, now)}` : "";
        const left = waits ? ` It waits for ${Math.max(1, (now.quorum ?? 1) - (now.answers?.length ?? 0))} more.` : "";
        const other = now?.status === "answered" && now.answer && !isMine(now) ? now.answer : null;
        const text = other ? `${other.actor ?? "Somebody"} was faster with an answer. Yours changed nothing.` : `You ${words}.${left}${renewed}`;
        const links = [el("a", { href: `#/runs/${encodeURIComponent(before.run_id)}`, class: "button" }, "Watch the run"), el("a", { href: "#/inbox", class: "button" }, "Back to the inbox")];
        this.page.say(el("div", { class: "row" }, el("p", {}, el("b", {}, text)), ...links), other || renewed ? "changed" : "done");
        waiting.tell(now ?? undefined);
    }

    /** The look before sending failed. @param {unknown} problem */
    notSent(problem) {
        const { code, message } = facts(problem);
        const [lead, more] = code === "unreachable" ? ["The server was not reached. ", "try again in a moment."] : code === "unauthenticated" ? ["You are signed out. ", "sign in and answer again."] : ["It could not be looked up once more. ", `${message} (${code}).`];
        this.page.say(el("p", {}, el("b", {}, lead), `Nothing was sent: ${more}`), "failed");
    }

    /** @param {unknown} problem */
    async failed(problem) {
        const { code, status } = facts(problem);
        if (BROKEN.has(status)) return this.unsure();
        if (TOO_LATE.has(code)) return this.tooLate(code, problem);
        this.sayRefused(problem);
    }

    /** Nobody said whether the answer arrived. Often a look tells. */
    async unsure() {
        const now = await waiting.look(this.question.id).catch(() => null);
        if (now?.status === "answered" && isMine(now)) {
            this.sending = false;
            this.page.show(now);
            this.sayArrived(now);
            waiting.tell(now);
            return;
        }
        this.page.say(el("p", {}, el("b", {}, "The server was not reached to the end. "), "It is not known whether it got your answer. Answer again: the same answer twice counts once."), "failed");
    }

    /** @param {string} code @param {unknown} problem */
    async tooLate(code, problem) {
        const now = await waiting.look(this.question.id).catch(() => null);
        if (now?.status === "pending" && isSame(this.question, now)) {
            if (code === "stale_continuation") this.page.say(el("p", {}, el("b", {}, "The run is busy. "), "Your answer was not taken, and nothing changed: try again in a moment."), "failed");
            else if (code === "conflicting_decision" && this.mine) this.page.say(el("p", {}, el("b", {}, "You approved this yourself. "), "That cannot be taken back, and nothing changed. Somebody else can still refuse it."), "failed");
            else this.sayRefused(problem);
            return;
        }
        this.sending = false;
        if (now) this.page.show(now);
        const who = now?.answer?.actor;
        if (now && isMine(now)) this.page.say(el("p", {}, el("b", {}, "You answered this already. "), "This answer changed nothing."), "changed");
        else this.page.say(el("p", {}, el("b", {}, who ? `${who} was faster. ` : "The run went on meanwhile. "), "Your answer changed nothing."), "changed");
        waiting.tell(now ?? undefined);
    }

    /** @param {unknown} problem */
    sayRefused(problem) {
        const { code, message, body } = facts(problem);
        const lead = code === "digest_mismatch" ? "Something else would run now. " : code === "unauthenticated" ? "You are signed out, and nothing changed. Sign in and answer again. " : "It was not accepted, and nothing changed. ";
        const paths = Array.isArray(body?.problems) ? body.problems : [];
        this.page.say(el("div", {}, el("p", {}, el("b", {}, lead), message, code ? ` (${code})` : ""), paths.length ? el("ul", {}, ...paths.map((/** @type {any} */ one) => el("li", {}, typeof one === "string" ? one : inline(one)))) : null), "failed");
    }
}

/** @param {Question} question */
function isMine(question) {
    return question.answer?.actor !== undefined && question.answer.actor === session.who?.name;
}

/** @param {unknown} problem @returns {{ code: string, status: number, message: string, body: any }} */
function facts(problem) {
    return problem instanceof Problem ? problem : { code: "", status: -1, message: String(problem), body: {} };
}

/** @param {string} placeholder */
function reasonBox(placeholder) {
    return el("textarea", { rows: "3", maxlength: "4000", placeholder });
}

/** @param {ReturnType<typeof changes>} changed */
function changesView(changed) {
    if (!changed.length) return el("p", { class: "hint" }, "Nothing is changed yet.");
    return [el("p", {}, el("b", {}, "You change:")), el("ul", {}, ...changed.map((one) => el("li", {}, el("code", {}, one.path), " from ", el("b", {}, shortly(one.before)), " to ", el("b", {}, shortly(one.after)))))];
}

/** @param {string} text */
function hiddenView(text) {
    return isOdd(text, { lines: true }) && el("p", {}, el("b", {}, "Something in it cannot be seen: "), "written out it is ", el("code", {}, cut(escaped(text), 400)));
}

/** @param {unknown} value */
function shortly(value) {
    return value === undefined ? "nothing" : cut(print(value), 80);
}

/**
 * What is wrong with a text that must be JSON of a form.
 * @param {string} text
 * @param {any} schema
 * @param {"object" | "any"} form
 * @returns {{ found: string[], value: unknown }}
 */
export function checkText(text, schema, form) {
    try {
        const value = parse(text);
        if (form === "object" && (value === null || typeof value !== "object" || Array.isArray(value))) return { found: ["the arguments must be an object"], value };
        const found = schema ? problems(schema, value).map((one) => `${one.path}: ${one.message}`) : [];
        return { found, value };
    } catch (error) {
        return { found: [error instanceof Error ? error.message : String(error)], value: undefined };
    }
}
