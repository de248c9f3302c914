// The console begins here: who is signed in, which page, which keys.

import { Problem, get, session, signedIn } from "./api.js";
import { agentsPage } from "./agents.js";
import { auditPage } from "./audit.js";
import { el, fill } from "./dom.js";
import { grantsPage } from "./grants.js";
import { inboxPage } from "./inbox.js";
import { policyPage } from "./policy.js";
import { queuePage } from "./queue.js";
import { runPage } from "./run.js";
import { runsPage } from "./runs.js";
import { PLACES, main, markPlace, onSignIn, openHelp, openShell, problemView, showConnection } from "./shell.js";
import { signInDialog, signInPage } from "./signin.js";
import { startPage } from "./start.js";
import { startClock } from "./time.js";
import { askEarly, waiting } from "./waiting.js";

/**
 * A page: its node, and what to do when it comes and goes.
 * @typedef {{ node: HTMLElement, open: () => void, close: () => void, key?: (event: KeyboardEvent) => boolean, go?: (id: string) => boolean }} Page
 */

/** @type {Page | null} */
let page = null;
let pageName = "";
/** Whether the last key was `g`: the next one names a page. */
let going = false;
/** How long the second key may take. */
const GOING_MS = 1_500;

/** @param {string} name @param {string} id @returns {Page} */
function make(name, id) {
    switch (name) {
        case "runs":
            return id ? runPage(id) : runsPage();
        case "start":
            return startPage();
        case "agents":
            return agentsPage();
        case "policy":
            return policyPage(id);
        case "grants":
            return grantsPage();
        case "queue":
            return queuePage();
        case "audit":
            return auditPage(id);
        default:
            return inboxPage(id);
    }
}

function route() {
    if (!session.who) return;
    const [, name = "inbox", id = ""] = location.hash.split("/");
    const decoded = decode(id);
    const full = `${name}/${name === "runs" && decoded ? "one" : ""}`;
    if (page?.go && full === pageName) {
        page.go(decoded);
        markPlace();
        return;
    }
    page?.close();
    pageName = full;
    page = make(name, decoded);
    main.className = name === "inbox" || (name === "runs" && decoded) ? "full" : "";
    fill(main, page.node);
    page.open();
    markPlace();
    scrollTo(0, 0);
}

/** @param {string} text */
function decode(text) {
    try {
        return decodeURIComponent(text);
    } catch {
        return "";
    }
}

/** @param {KeyboardEvent} event */
function onKey(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const target = /** @type {HTMLElement} */ (event.target);
    const typing = target.matches?.("input, textarea, select");
    if (typing && event.key !== "Escape") return;
    if (going && PLACES.some((place) => place.key === event.key)) {
        going = false;
        event.preventDefault();
        location.hash = `#/${PLACES.find((place) => place.key === event.key)?.path}`;
        return;
    }
    if (event.key === "g") {
        going = true;
        setTimeout(() => {
            going = false;
        }, GOING_MS);
        return;
    }
    if (event.key === "?") openHelp();
    else if (page?.key?.(event)) event.preventDefault();
}

/**
 * The session ended while the page is open. Once it is asked for the token at once, and again when somebody wants to change
 * something: a page that only reads itself again would ask every few seconds.
 * @param {string} method
 */
function signedOut(method) {
    if (!session.who) return;
    const told = sessionOver;
    sessionOver = session.who;
    showConnection("session", "signed-out");
    if (told !== session.who || method !== "GET") signInDialog();
}

/** @type {import("./api.js").Who | null} The session that is known to be over. */
let sessionOver = null;

function signIn() {
    session.who = null;
    page?.close();
    page = null;
    pageName = "";
    document.body.classList.remove("signed-in");
    const app = document.getElementById("app");
    if (app) fill(app, signInPage(begin));
}

function begin() {
    openShell();
    waiting.open();
    route();
}

async function boot() {
    startClock();
    session.onSignedOut = signedOut;
    onSignIn(signInDialog);
    addEventListener("hashchange", route);
    addEventListener("keydown", onKey);
    askEarly();
    try {
        signedIn(await get("/v1/login"));
        begin();
    } catch (problem) {
        if (problem instanceof Problem && problem.status === 401) return signIn();
        const app = document.getElementById("app");
        if (app) fill(app, el("main", { class: "sign-in" }, problemView(problem, () => location.reload())));
    }
}

void boot();
