// What surrounds every page: navigation, who is signed in, the theme, the banner of a lost connection, help, messages.

import { may, remove, session } from "./api.js";
import { button, el, fill } from "./dom.js";
import { nowText, since } from "./time.js";
import { cut } from "./value.js";
import { plain } from "./visible.js";

/**
 * A page of the console.
 * @typedef {{ path: string, title: string, roles: import("./api-types").TokenRole[], key: string }} Place
 */

/** @type {Place[]} */
export const PLACES = [
    { path: "inbox", title: "Inbox", roles: ["read", "approve"], key: "i" },
    { path: "runs", title: "Runs", roles: ["read"], key: "r" },
    { path: "start", title: "Start a run", roles: ["submit"], key: "s" },
    { path: "agents", title: "Agents and tools", roles: ["read", "submit", "approve", "work"], key: "t" },
    { path: "policy", title: "Policy", roles: ["read", "submit", "approve", "work"], key: "p" },
    { path: "grants", title: "Grants", roles: ["read", "approve"], key: "g" },
    { path: "queue", title: "Workers and queue", roles: ["read", "work"], key: "w" },
    { path: "audit", title: "Audit", roles: [], key: "a" },
];

/** @type {Array<[string, string]>} */
const SHORTCUTS = [
    ["j, k", "next, previous in a list"],
    ["↓, ↑", "the same, while the list has the focus"],
    ["Enter", "open what is chosen; press the button that has the focus"],
    ["a, then Enter", "approve"],
    ["r", "approve, with a reason"],
    ["d", "refuse, with a reason"],
    ["e", "edit the arguments"],
    ["s", "answer in the tool's place, or what a tool asks; of a call in doubt: it happened"],
    ["m", "approve and remember"],
    ["Esc", "back to the list; close what is open"],
    ["g, then a letter", PLACES.map((place) => `${place.key} ${place.title}`).join(", ")],
    ["?", "this list"],
];

const badge = el("span", { class: "badge", hidden: true });
const banner = el("div", { class: "banner", role: "status", "aria-live": "polite" });
const toasts = el("div", { class: "toasts", role: "status", "aria-live": "polite" });
const navigation = el("nav", { "aria-label": "Pages" });
const account = el("div", { class: "account" });
export const main = el("main", { id: "main", tabindex: "-1" });

/** Puts everything in its place. */
export function openShell() {
    const app = document.getElementById("app");
    if (!app) return;
    const skip = el("a", { href: "#main", class: "skip", on: { click: (/** @type {Event} */ event) => {
        event.preventDefault();
        main.focus();
    } } }, "Skip to the content");
    const brand = el("a", { href: "#/inbox", class: "brand" }, el("span", { class: "mark", "aria-hidden": "true" }, "H"), "Holdpoint");
    const side = el("header", { class: "side" }, brand, navigation, account);
    fill(app, skip, side, el("div", { class: "stage" }, banner, main), toasts, help);
    document.body.classList.toggle("signed-in", Boolean(session.who));
    drawNavigation();
}

function drawNavigation() {
    const current = location.hash.split("/")[1] || "inbox";
    const links = PLACES.filter((place) => !session.who || (place.roles.length ? may(...place.roles) : may("admin"))).map((place) =>
        el("li", {}, el("a", { href: `#/${place.path}`, "aria-current": place.path === current ? "page" : null }, place.title, place.path === "inbox" && badge)),
    );
    const focused = navigation.contains(document.activeElement) ? document.activeElement?.getAttribute("href") : null;
    fill(navigation, el("ul", {}, ...links));
    if (focused) /** @type {HTMLElement | null} */ (navigation.querySelector(`[href="${CSS.escape(focused)}"]`))?.focus();
    // On a phone the pages stand in one line that scrolls.
    const here = /** @type {HTMLElement | null} */ (navigation.querySelector("[aria-current]"));
    if (here) navigation.scrollLeft = here.offsetLeft - (navigation.clientWidth - here.offsetWidth) / 2;
    const who = session.who;
    fill(
        account,
        who && el("p", { class: "who", title: `roles: ${who.roles.join(", ")}` }, el("b", {}, who.name), who.tenant ? ` at ${who.tenant}` : ""),
        el("div", { class: "row" }, themeButton(), noticeButton(), button("Keys", openHelp, { class: "quiet", "aria-keyshortcuts": "?", title: "Keyboard shortcuts (?)" }), who?.csrf_token && button("Sign out", signOut, { class: "quiet" })),
    );
}

/** Marks the page that is shown. */
export function markPlace() {
    drawNavigation();
}

async function signOut() {
    await remove("/v1/login").catch(() => null);
    session.who = null;
    location.hash = "#/inbox";
    location.reload();
}

let counted = "";
/** How much of a title tells one page from another. */
const TITLE_MAX = 80;

/** @param {number} count @param {boolean} more */
export function showCount(count, more) {
    badge.hidden = !count;
    counted = more ? `${count}+` : String(count);
    fill(badge, counted, el("span", { class: "hidden" }, " waiting"));
    document.title = document.title.replace(/^\(\d+\+?\) /, "");
    if (count) document.title = `(${counted}) ${document.title}`;
}

/** @param {string} title */
export function setTitle(title) {
    const count = badge.hidden ? "" : `(${counted}) `;
    document.title = `${count}${cut(plain(title), TITLE_MAX)} · Holdpoint`;
}

/** @typedef {import("./api.js").StreamState | "closed" | "signed-out"} LineState */
/** @type {Map<string, LineState>} What is wrong with each of the connections that the page needs. */
const broken = new Map();
/** @type {string | null} */
let lostSince = null;

/**
 * Says when what is shown may be out of date. Every connection counts: one that is there says nothing about another.
 * @param {string} line Which connection.
 * @param {LineState} state
 */
export function showConnection(line, state) {
    const before = broken.get(line);
    if (["lost", "refused", "signed-out"].includes(state)) broken.set(line, state);
    else if (state !== "connecting") broken.delete(line);
    if (broken.size) lostSince ??= nowText();
    // What was missed comes only now, and piece by piece: nothing is promised.
    else if (before === "lost" && state === "live") toast("Connected again.");
    if (!broken.size) lostSince = null;
    document.documentElement.dataset.connection = broken.size ? "lost" : state;
    if (before !== broken.get(line)) drawBanner();
}

function drawBanner() {
    const states = new Set(broken.values());
    const stale = [" What you see may be out of date."];
    banner.classList.toggle("on", states.size > 0);
    if (states.has("signed-out")) fill(banner, el("b", {}, "You are signed out."), stale, " ", button("Sign in", () => askSignIn(), { class: "small" }));
    else if (states.has("refused")) fill(banner, el("b", {}, "Nothing new comes."), " The server does not let this page follow what happens.", stale, " Loading the page again may help.");
    else if (states.has("lost")) fill(banner, el("b", {}, "Not connected."), " The connection was lost ", since(lostSince), ".", stale, " Trying again…");
    else banner.replaceChildren();
}

/** Asks for a token again, without leaving the page. Set by the page that knows how. */
let askSignIn = () => {};

/** @param {() => void} ask */
export function onSignIn(ask) {
    askSignIn = ask;
}

/** How long a message stays. */
const TOAST_MS = 6_000;

/** @param {string} text */
export function toast(text) {
    const node = el("p", { class: "toast" }, text);
    toasts.append(node);
    setTimeout(() => node.remove(), TOAST_MS);
}

function themeButton() {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    const label = dark ? "Light" : "Dark";
    return button(label, () => {
        root.dataset.theme = dark ? "light" : "dark";
        try {
            localStorage.setItem("holdpoint.theme", root.dataset.theme);
        } catch {
            // It holds for this visit then.
        }
        drawNavigation();
    }, { class: "quiet", title: `Switch to the ${label.toLowerCase()} theme` });
}

function noticeButton() {
    if (!("Notification" in window) || Notification.permission !== "default") return null;
    return button("Notify me", async () => {
        await Notification.requestPermission();
        drawNavigation();
    }, { class: "quiet", title: "Show a notification when something waits for you" });
}

const help = el(
    "dialog",
    { class: "help", "aria-labelledby": "help-title" },
    el("h2", { id: "help-title" }, "Keyboard"),
    el("table", {}, el("tbody", {}, ...SHORTCUTS.map(([keys, what]) => el("tr", {}, el("th", { scope: "row" }, keys), el("td", {}, what))))),
    el("form", { method: "dialog" }, el("button", { class: "primary" }, "Close")),
);

export function openHelp() {
    if (!help.open) help.showModal();
}

/**
 * A problem, in words.
 * @param {unknown} problem
 * @param {(() => void) | null} [again]
 */
export function problemView(problem, again = null) {
    const { message, code, body } = /** @type {import("./api.js").Problem} */ (problem);
    const roles = code === "forbidden" && Array.isArray(body?.roles) ? ` Your token has the roles: ${session.who?.roles.join(", ") || "none"}.` : "";
    return el(
        "div",
        { class: "problem", role: "alert" },
        el("p", {}, el("b", {}, code === "unreachable" ? "Not reached. " : "That did not work. "), `${message}.${roles}`),
        code && code !== "unreachable" && el("p", { class: "hint" }, `code ${code}`, body?.request_id ? `, request ${body.request_id}` : ""),
        again && button("Try again", again),
    );
}

/**
 * The head of a page.
 * @param {string} title
 * @param {string} [about]
 * @param {...import("./dom.js").Child} more
 */
export function pageHead(title, about, ...more) {
    setTitle(title);
    return el("div", { class: "page-head" }, el("h1", {}, title), about && el("p", { class: "about" }, about), ...more);
}
