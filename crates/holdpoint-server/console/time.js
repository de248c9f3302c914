// Moments, durations and deadlines, by the server's clock.

import { el } from "./dom.js";

/** How far the server's clock is ahead of the browser's, in milliseconds. */
let ahead = 0;
/** Below this much time a deadline is close. */
const CLOSE_MS = 10 * 60_000;

/**
 * Learns the server's time from an answer. The header has whole seconds: small differences are left alone.
 * @param {string | null} date
 */
export function learnTime(date) {
    const server = date ? Date.parse(date) : Number.NaN;
    if (Number.isNaN(server)) return;
    const difference = server + 500 - Date.now();
    ahead = Math.abs(difference) > 2_000 ? difference : 0;
}

/** Now, by the server's clock. */
export function now() {
    return Date.now() + ahead;
}

/** Now, by the server's clock, as the server writes it. */
export function nowText() {
    return new Date(now()).toISOString();
}

/**
 * Orders two moments as the server writes them. It leaves zeros at the end of a fraction out, so that neither the texts can be
 * compared nor, being as fine as microseconds, what `Date` makes of them.
 * @param {string} a
 * @param {string} b
 */
export function compareMoments(a, b) {
    const [left, right] = [Date.parse(a), Date.parse(b)];
    if (Math.floor(left / 1000) !== Math.floor(right / 1000)) return left - right;
    return fraction(a) - fraction(b);
}

/** Microseconds within the second. @param {string} text */
function fraction(text) {
    return Number((/\.(\d+)/.exec(text)?.[1] ?? "").padEnd(6, "0").slice(0, 6));
}

/**
 * A duration in words: two units at most.
 * @param {number} ms
 */
export function duration(ms) {
    if (ms < 1) return `${Math.max(0, Math.round(ms * 1000))} µs`;
    if (ms < 1_000) return `${Math.round(ms)} ms`;
    if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
    return spell(Math.floor(ms / 1000));
}

/** @param {number} seconds */
function spell(seconds) {
    const [days, hours, minutes] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3_600) % 24, Math.floor(seconds / 60) % 60];
    if (days) return `${days} d ${hours} h`;
    if (hours) return `${hours} h ${minutes} min`;
    if (minutes) return `${minutes} min ${seconds % 60} s`;
    return `${seconds} s`;
}

/**
 * A moment as the reader's own clock shows it.
 * @param {string | null | undefined} text
 */
export function moment(text) {
    if (!text) return "";
    const date = new Date(text);
    if (Number.isNaN(date.getTime())) return text;
    const today = new Date(now()).toDateString() === date.toDateString();
    const time = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
    return today ? time : `${date.toLocaleDateString([], { day: "numeric", month: "short" })} ${time}`;
}

/**
 * A moment, with the exact one behind it.
 * @param {string | null | undefined} text
 */
export function when(text) {
    return el("time", { datetime: text, title: text }, moment(text));
}

/**
 * How long ago, kept current.
 * @param {string | null | undefined} text
 */
export function since(text) {
    return el("time", { datetime: text, title: text, "data-since": text }, ago(text ?? ""));
}

/** @param {string} text */
function ago(text) {
    const past = now() - Date.parse(text);
    if (Number.isNaN(past)) return "";
    return past < 5_000 ? "just now" : `${spell(Math.floor(past / 1000))} ago`;
}

/**
 * What is left until a deadline, counting down.
 * @param {string | null | undefined} deadline
 */
export function countdown(deadline) {
    if (!deadline) return el("span", { class: "left none" }, "no deadline");
    const node = el("time", { class: "left", datetime: deadline, title: deadline, "data-until": deadline });
    count(node);
    return node;
}

/** @param {HTMLElement} node */
function count(node) {
    const left = Date.parse(node.dataset.until ?? "") - now();
    const text = left <= 0 ? "expired" : `${spell(Math.ceil(left / 1000))} left`;
    if (node.textContent !== text) node.textContent = text;
    node.classList.toggle("close", left > 0 && left < CLOSE_MS);
    node.classList.toggle("past", left <= 0);
}

/** Lets every deadline and age on the page go on, once a second. */
export function startClock() {
    setInterval(() => {
        if (document.hidden) return;
        for (const node of document.querySelectorAll("time[data-until]")) count(/** @type {HTMLElement} */ (node));
        for (const node of document.querySelectorAll("time[data-since]")) {
            const text = ago(/** @type {HTMLElement} */ (node).dataset.since ?? "");
            if (node.textContent !== text) node.textContent = text;
        }
    }, 1_000);
}

/**
 * Notes that something is shown, where somebody measures: a page that is open for days would gather marks without end.
 * @param {string} name
 */
export function mark(name) {
    if ("holdpointMeasured" in window) performance.mark(name);
}
