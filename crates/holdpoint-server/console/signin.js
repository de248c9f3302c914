// Exchanges a token for a session of this browser.

import { post, session, signedIn } from "./api.js";
import { button, el, field, fill } from "./dom.js";
import { showConnection, toast } from "./shell.js";

/** @typedef {import("./api.js").Who} Who */

/** @param {() => void} done */
export function signInPage(done) {
    const form = tokenForm(el("h1", {}, "Holdpoint"), "Sign in with your token to see what waits for you.", (who) => {
        signedIn(who);
        done();
    });
    form.classList.add("card");
    return el("main", { class: "sign-in" }, form);
}

/** @type {HTMLDialogElement | null} */
let open = null;

/**
 * Asks for the token again over the page: what was typed there stays. Somebody else gets a page of their own.
 */
export function signInDialog() {
    if (open) return;
    const before = session.who;
    const dialog = el("dialog", { class: "help", "aria-labelledby": "again-title" });
    open = dialog;
    const form = tokenForm(el("h2", { id: "again-title" }, "Your session is over"), "Sign in again. Nothing that you typed is lost, and nothing is sent until you say so.", (who) => {
        if (who.name !== before?.name || who.tenant !== before.tenant) return location.reload();
        signedIn(who);
        showConnection("session", "closed");
        toast("Signed in again.");
        dialog.close();
    }, button("Not now", () => dialog.close(), { class: "quiet" }));
    dialog.append(form);
    dialog.addEventListener("close", () => {
        open = null;
        dialog.remove();
    });
    document.body.append(dialog);
    dialog.showModal();
}

/**
 * @param {HTMLElement} title
 * @param {string} about
 * @param {(who: Who) => void} done
 * @param {HTMLElement | null} [other]
 */
function tokenForm(title, about, done, other = null) {
    const token = el("input", { type: "password", autocomplete: "current-password", required: true, spellcheck: "false" });
    const says = el("p", { class: "problem-line", role: "alert" });
    const submit = el("button", { type: "submit", class: "primary" }, "Sign in");
    const form = el("form", { class: "form" }, title, el("p", { class: "about" }, about), field("Token", token, "It is sent once and kept nowhere in this browser. The session ends after 12 hours."), says, el("div", { class: "row" }, submit, other));
    form.addEventListener("submit", async (event) => {
        event.preventDefault();
        submit.disabled = true;
        says.replaceChildren();
        try {
            const who = await post("/v1/login", { token: token.value });
            token.value = "";
            done(who);
        } catch (problem) {
            const { status, message } = /** @type {import("./api.js").Problem} */ (problem);
            fill(says, status === 401 ? "The server knows no such token." : `That did not work: ${message}.`);
            token.select();
        }
        submit.disabled = false;
    });
    setTimeout(() => token.focus());
    return form;
}
