// The public API of the server, and nothing else.

import { print, read } from "./json.js";
import { learnTime } from "./time.js";

/** @typedef {import("./api-types").WhoAnswer} Who */
/** @typedef {import("./api-types").paths} Routes */
/** @typedef {"get" | "post" | "delete"} Method */

/**
 * The routes of a method.
 * @template {Method} M
 * @typedef {{ [R in keyof Routes]: Routes[R][M] extends { responses: unknown } ? R : never }[keyof Routes]} RouteOf
 */

/**
 * What a route answers when it did what was asked.
 * @template {keyof Routes} R
 * @template {Method} M
 * @typedef {Routes[R][M] extends { responses: { 200: { content: { "application/json": infer Body } } } } ? Body
 *     : Routes[R][M] extends { responses: { 201: { content: { "application/json": infer Body } } } } ? Body : null} AnswerOf
 */

/**
 * What a route takes as its body.
 * @template {keyof Routes} R
 * @typedef {Routes[R]["post"] extends { requestBody: { content: { "application/json": infer Body } } } ? Body : undefined} BodyOf
 */

/**
 * What stands in the address beside the route: its `id`, and a query. Empty values are left out.
 * @template {keyof Routes} R
 * @template {Method} M
 * @typedef {{ id?: string, query?: Routes[R][M] extends { parameters: { query?: infer Query } } ? { [Name in keyof NonNullable<Query>]?: string | number | null } : never }} Place
 */

/** How long a stream may be silent: the server says something every 15 seconds. */
const SILENCE_MS_MAX = 40_000;
/** How long to wait before a broken stream is opened again, at first and at most. */
const AGAIN_MS = 500;
const AGAIN_MS_MAX = 8_000;
/** How long a server that has too much to do may keep a stream waiting. */
const RETRY_MS_MAX = 30_000;
/** How long a request may take. */
const REQUEST_MS_MAX = 65_000;

/** @type {{ who: Who | null, onSignedOut: (method: string) => void }} */
export const session = { who: null, onSignedOut: () => {} };

/** @type {Set<() => void>} Those who wait until somebody is signed in again. */
const returning = new Set();

/** Somebody is signed in. @param {Who} who */
export function signedIn(who) {
    session.who = who;
    for (const go of returning) go();
    returning.clear();
}

/** Why the server did not do something, or why it was not reached. */
export class Problem extends Error {
    /**
     * @param {number} status 0 when the server was not reached.
     * @param {any} body
     */
    constructor(status, body) {
        super(body?.detail || body?.title || (status ? `the server answered ${status}` : "the server cannot be reached"));
        this.status = status;
        this.code = /** @type {string} */ (body?.code ?? (status ? "unknown" : "unreachable"));
        this.body = body ?? {};
        /** How long the server wants to be left alone. */
        this.retryMs = 0;
    }
}

/**
 * @param {string} method
 * @param {string} path
 * @param {string} [body] JSON.
 * @param {number} [msMax]
 */
async function send(method, path, body, msMax = REQUEST_MS_MAX) {
    /** @type {Record<string, string>} */
    const headers = { accept: "application/json" };
    if (body !== undefined) headers["content-type"] = "application/json";
    if (method !== "GET" && session.who?.csrf_token) headers["x-csrf-token"] = session.who.csrf_token;
    if (method === "POST" && !path.startsWith("/v1/login")) headers["idempotency-key"] = unique();
    let answer;
    try {
        const signal = AbortSignal.timeout(msMax);
        answer = await fetch(path, { method, headers, body, signal, credentials: "same-origin", cache: "no-store" });
    } catch {
        throw new Problem(0, null);
    }
    learnTime(answer.headers.get("date"));
    const text = await answer.text().catch(() => {
        throw new Problem(0, null);
    });
    let json = null;
    try {
        json = text ? read(text) : null;
    } catch {
        if (answer.ok) throw new Problem(answer.status, { detail: "the server answered something that is no JSON" });
    }
    if (answer.ok) return json;
    if (answer.status === 401 && !path.startsWith("/v1/login")) session.onSignedOut(method);
    throw refused(answer, json);
}

/** @param {Response} answer @param {any} body */
function refused(answer, body) {
    const problem = new Problem(answer.status, body);
    problem.retryMs = 1000 * (Number(answer.headers.get("retry-after")) || 0);
    return problem;
}

/** A name for a request, so that one that is sent twice is done once. */
function unique() {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * @template {RouteOf<"get">} R
 * @param {R} route
 * @param {Place<R, "get">} [place]
 * @param {number} [msMax] How long it may take.
 * @returns {Promise<AnswerOf<R, "get">>}
 */
export function get(route, place, msMax) {
    return send("GET", address(route, place), undefined, msMax);
}

/**
 * @template {RouteOf<"post">} R
 * @param {R} route
 * @param {BodyOf<R> | Written} body A value, or JSON that was written already.
 * @param {Place<R, "post">} [place]
 * @returns {Promise<AnswerOf<R, "post">>}
 */
export function post(route, body, place) {
    const text = body instanceof Written ? body.text : body === undefined ? undefined : print(body);
    return send("POST", address(route, place), text);
}

/**
 * @template {RouteOf<"delete">} R
 * @param {R} route
 * @param {Place<R, "delete">} [place]
 * @returns {Promise<AnswerOf<R, "delete">>}
 */
export function remove(route, place) {
    return send("DELETE", address(route, place));
}

/**
 * @param {string} route
 * @param {{ id?: string, query?: Record<string, string | number | null | undefined> }} [place]
 */
function address(route, { id = "", query = {} } = {}) {
    const pairs = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
    const text = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
    return `${route.replace("{id}", encodeURIComponent(id))}${text ? `?${text}` : ""}`;
}

/** JSON that is sent as it is. */
export class Written {
    /** @param {string} text */
    constructor(text) {
        this.text = text;
    }
}

/**
 * Whether who is signed in has one of the roles; `admin` has all.
 * @param {...import("./api-types").TokenRole} roles
 */
export function may(...roles) {
    const mine = session.who?.roles ?? [];
    return mine.includes("admin") || roles.some((role) => mine.includes(role));
}

/** What a stream is doing. `refused`: the server says no, and will not say anything else. */
/** @typedef {"connecting" | "live" | "lost" | "over" | "refused"} StreamState */

/**
 * What happens before it is stored, such as the words of a model. It has no number, and is told once.
 * @typedef {{ seq?: undefined, event: "text_delta" | "thinking_delta" | "tool_call_started" | "tool_call_delta" | "tool_call_ended" | "tool_progress", text?: string }} Delta
 */

/**
 * What each stream tells.
 * @typedef {{ "/v1/runs/{id}/events": import("./api-types").EventView | Delta, "/v1/approvals/events": import("./api-types").ApprovalView }} Told
 */

/**
 * What a stream tells. `onReset`: the server does not know the place to go on from, and begins anew.
 * @template E
 * @typedef {{ onEvent: (event: E) => void, onState?: (state: StreamState) => void, onReset?: () => void, after?: number }} Listener
 */

/**
 * A stream of events that connects again by itself and goes on where it broke.
 * @template {keyof Told} R
 * @param {R} route
 * @param {Listener<Told[R]> & { id?: string }} listener
 */
export function follow(route, listener) {
    const stream = new Stream(address(route, { id: listener.id }), listener);
    void stream.run();
    return stream;
}

class Stream {
    /** @param {string} path @param {Listener<any>} listener */
    constructor(path, { onEvent, onState = () => {}, onReset = () => {}, after }) {
        this.path = path;
        this.onEvent = onEvent;
        this.onState = onState;
        this.onReset = onReset;
        /** @type {string | null} */
        this.last = after === undefined ? null : String(after);
        this.closed = false;
        this.abort = new AbortController();
    }

    close() {
        this.closed = true;
        this.abort.abort();
    }

    async run() {
        let wait = AGAIN_MS;
        this.onState("connecting");
        while (!this.closed) {
            this.abort = new AbortController();
            let heard = false;
            let broken = true;
            let pause = 0;
            try {
                const end = await this.once(() => {
                    heard = true;
                });
                if (end === "over" || end === "refused") return void (this.closed || this.onState(end));
                broken = end !== "ended";
            } catch (problem) {
                // Whatever broke it, it is opened again below; not before the server wants that.
                pause = problem instanceof Problem ? problem.retryMs : 0;
            }
            if (this.closed) return;
            // What the server ended in good order is not lost before it does not come back: a run that is over ends so, too.
            if (broken) this.onState("lost");
            wait = heard ? AGAIN_MS : Math.min(wait * 2, AGAIN_MS_MAX);
            await new Promise((resolve) => setTimeout(resolve, Math.max(wait, Math.min(pause, RETRY_MS_MAX))));
        }
    }

    /**
     * One connection. Says whether nothing more will come, or that the server ended it.
     * @param {() => void} onHeard
     * @returns {Promise<"over" | "refused" | "ended" | null>}
     */
    async once(onHeard) {
        /** @type {Record<string, string>} */
        const headers = { accept: "text/event-stream" };
        if (this.last !== null) headers["last-event-id"] = this.last;
        const { abort } = this;
        let alarm = setTimeout(() => abort.abort(), SILENCE_MS_MAX);
        try {
            const answer = await fetch(this.path, { headers, signal: abort.signal, credentials: "same-origin", cache: "no-store" });
            learnTime(answer.headers.get("date"));
            if (answer.status === 204) return "over";
            if (answer.status === 401) {
                clearTimeout(alarm);
                await this.signedInAgain();
                return this.closed ? null : await this.once(onHeard);
            }
            if (answer.status === 403 || answer.status === 404) return "refused";
            if (this.last !== null && (answer.status === 400 || answer.status === 422)) return this.reset();
            if (!answer.ok || !answer.body) throw refused(answer, null);
            onHeard();
            this.onState("live");
            const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
            let rest = "";
            for (;;) {
                const { value, done } = await reader.read();
                if (done) return "ended";
                clearTimeout(alarm);
                alarm = setTimeout(() => abort.abort(), SILENCE_MS_MAX);
                rest = this.take(rest + value);
            }
        } finally {
            clearTimeout(alarm);
            // However it ended: a body that nobody reads any more would keep its connection.
            abort.abort();
        }
    }

    /** The store behind the server is another one than it was, so that the place to go on from means nothing. @returns {null} */
    reset() {
        this.last = null;
        if (!this.closed) this.onReset();
        return null;
    }

    signedInAgain() {
        session.onSignedOut("GET");
        return new Promise((resolve) => returning.add(() => resolve(undefined)));
    }

    /**
     * Tells every whole event of a text, and gives back what is left.
     * @param {string} text
     */
    take(text) {
        const frames = text.split("\n\n");
        const rest = frames.pop() ?? "";
        for (const frame of frames) {
            let id = null;
            let data = "";
            for (const line of frame.split("\n")) {
                if (line.startsWith("id:")) id = line.slice(3).trim();
                else if (line.startsWith("data:")) data += line.slice(5).trimStart();
            }
            if (id !== null) this.last = id;
            if (data && !this.closed) this.tell(data);
        }
        return rest;
    }

    /** What goes wrong with one event is reported, and does not end the stream: the next one may matter more. @param {string} data */
    tell(data) {
        try {
            this.onEvent(read(data));
        } catch (error) {
            reportError(error);
        }
    }
}
