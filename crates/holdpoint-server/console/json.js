// JSON without loss: numbers that a double cannot hold stay as they were written, and a key that is there twice is an error.

/** A number as it was written, where JavaScript's own would be another one. */
export class Exact {
    /** @param {string} text */
    constructor(text) {
        this.text = text;
    }

    toString() {
        return this.text;
    }
}

/** Where a text is no JSON. */
export class JsonError extends Error {
    /**
     * @param {string} message
     * @param {number} at
     * @param {string} text
     */
    constructor(message, at, text) {
        const before = text.slice(0, at).split("\n");
        const line = before.length;
        const column = (before[line - 1]?.length ?? 0) + 1;
        super(`line ${line}, column ${column}: ${message}`);
        this.line = line;
        this.column = column;
        this.at = at;
    }
}

/** How deep a text may be nested: the server takes no more. */
const DEPTH_MAX = 100;
/** How deep an answer of the server may be nested: what it holds stands inside lists and objects of its own. */
const ANSWER_DEPTH_MAX = 1_000;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const SPACE = /[ \t\n\r]*/y;
/** Canonical numbers are written as JavaScript writes them, except integers that are this long and powers that are this high. */
const LONG_NUMBER = /\d{16}|\d[eE][+-]?\d{3}/;

/**
 * Reads an answer of the server: quickly where nothing can be lost.
 * @param {string} text
 * @returns {any}
 */
export function read(text) {
    return LONG_NUMBER.test(text) ? parse(text, ANSWER_DEPTH_MAX) : JSON.parse(text);
}

/**
 * Reads any text, and says where it is wrong.
 * @param {string} text
 * @param {number} [depthMax]
 * @returns {any}
 */
export function parse(text, depthMax = DEPTH_MAX) {
    const reader = new Reader(text, depthMax);
    const value = reader.value(0);
    reader.space();
    if (reader.at < text.length) throw reader.wrong("something follows after the end");
    return value;
}

class Reader {
    /** @param {string} text @param {number} depthMax */
    constructor(text, depthMax) {
        this.text = text;
        this.depthMax = depthMax;
        this.at = 0;
    }

    /** @param {string} message */
    wrong(message) {
        return new JsonError(message, this.at, this.text);
    }

    space() {
        SPACE.lastIndex = this.at;
        this.at += SPACE.exec(this.text)?.[0].length ?? 0;
    }

    /**
     * @param {number} depth
     * @returns {any}
     */
    value(depth) {
        if (depth > this.depthMax) throw this.wrong(`nested deeper than ${this.depthMax}`);
        this.space();
        const letter = this.text[this.at];
        if (letter === "{") return this.object(depth);
        if (letter === "[") return this.list(depth);
        if (letter === '"') return this.string();
        for (const [word, value] of /** @type {const} */ ([["true", true], ["false", false], ["null", null]])) {
            if (this.text.startsWith(word, this.at)) {
                this.at += word.length;
                return value;
            }
        }
        return this.number();
    }

    number() {
        NUMBER.lastIndex = this.at;
        const text = NUMBER.exec(this.text)?.[0];
        if (!text) throw this.wrong(this.at >= this.text.length ? "the text ends too early" : "no value begins here");
        this.at += text.length;
        const number = Number(text);
        const integer = /^-?\d+$/.test(text);
        if (!Number.isFinite(number) || (integer && String(number) !== text && text !== "-0")) return new Exact(text);
        return number;
    }

    string() {
        const from = this.at;
        this.at += 1;
        for (;;) {
            PLAIN.lastIndex = this.at;
            this.at += PLAIN.exec(this.text)?.[0].length ?? 0;
            const letter = this.text[this.at];
            if (letter === '"') break;
            if (letter === undefined) throw this.wrong("a text is not closed");
            if (letter !== "\\") throw this.wrong("a control character or a line break must be written as an escape");
            const escape = this.text.slice(this.at, this.at + 6);
            if (/^\\u[0-9a-fA-F]{4}/.test(escape)) this.at += 6;
            else if (/^\\["\\/bfnrt]/.test(escape)) this.at += 2;
            else throw this.wrong("there is no such escape");
        }
        this.at += 1;
        return /** @type {string} */ (JSON.parse(this.text.slice(from, this.at)));
    }

    /** @param {number} depth */
    list(depth) {
        /** @type {unknown[]} */
        const items = [];
        this.at += 1;
        this.space();
        if (this.text[this.at] === "]") {
            this.at += 1;
            return items;
        }
        for (;;) {
            items.push(this.value(depth + 1));
            this.space();
            const letter = this.text[this.at];
            if (letter !== "," && letter !== "]") throw this.wrong("a comma or ] is missing");
            this.at += 1;
            if (letter === "]") return items;
        }
    }

    /** @param {number} depth */
    object(depth) {
        /** @type {Record<string, unknown>} */
        const members = {};
        this.at += 1;
        this.space();
        if (this.text[this.at] === "}") {
            this.at += 1;
            return members;
        }
        for (;;) {
            this.space();
            if (this.text[this.at] !== '"') throw this.wrong("a key in quotation marks is missing");
            const from = this.at;
            const key = this.string();
            if (Object.hasOwn(members, key)) {
                this.at = from;
                throw this.wrong(`the key ${JSON.stringify(key)} is there twice`);
            }
            this.space();
            if (this.text[this.at] !== ":") throw this.wrong("a colon is missing");
            this.at += 1;
            const value = this.value(depth + 1);
            // A key may be called __proto__.
            Object.defineProperty(members, key, { value, enumerable: true, configurable: true, writable: true });
            this.space();
            const letter = this.text[this.at];
            if (letter !== "," && letter !== "}") throw this.wrong("a comma or } is missing");
            this.at += 1;
            if (letter === "}") return members;
        }
    }
}

/**
 * Writes a value, numbers as they were.
 * @param {unknown} value
 * @param {number} [indent]
 * @param {string} [margin]
 * @returns {string}
 */
export function print(value, indent = 0, margin = "") {
    if (value instanceof Exact) return value.text;
    if (Array.isArray(value)) return bracketed("[]", value.map((item) => ["", item]), indent, margin);
    if (value !== null && typeof value === "object") {
        const colon = indent ? ": " : ":";
        const members = Object.entries(value).map(([key, item]) => /** @type {[string, unknown]} */ ([JSON.stringify(key) + colon, item]));
        return bracketed("{}", members, indent, margin);
    }
    return JSON.stringify(value ?? null);
}

/**
 * @param {string} pair
 * @param {Array<[string, unknown]>} items
 * @param {number} indent
 * @param {string} margin
 */
function bracketed(pair, items, indent, margin) {
    const inner = margin + " ".repeat(indent);
    const written = items.map(([head, item]) => head + print(item, indent, inner));
    if (!indent || !written.length) return pair[0] + written.join(",") + pair[1];
    return `${pair[0]}\n${inner}${written.join(`,\n${inner}`)}\n${margin}${pair[1]}`;
}

/**
 * Whether two values are the same.
 * @param {unknown} a
 * @param {unknown} b
 * @returns {boolean}
 */
export function same(a, b) {
    if (a === b) return true;
    if (a instanceof Exact || b instanceof Exact) return String(a) === String(b);
    if (a === null || b === null || typeof a !== "object" || typeof b !== "object") return false;
    if (Array.isArray(a) !== Array.isArray(b)) return false;
    const [left, right] = [Object.entries(a), Object.entries(b)];
    return left.length === right.length && left.every(([key, value]) => Object.hasOwn(b, key) && same(value, /** @type {any} */ (b)[key]));
}

/**
 * What differs, as paths with what was and what is. At most `max` of them.
 * @param {unknown} before
 * @param {unknown} after
 * @param {number} [max]
 * @returns {Array<{ path: string, before: unknown, after: unknown }>}
 */
export function changes(before, after, max = 20) {
    /** @type {Array<{ path: string, before: unknown, after: unknown }>} */
    const found = [];
    /** @param {unknown} a @param {unknown} b @param {string} path */
    const walk = (a, b, path) => {
        if (found.length >= max || same(a, b)) return;
        const open = (/** @type {unknown} */ x) => x !== null && typeof x === "object" && !(x instanceof Exact);
        if (open(a) && open(b) && Array.isArray(a) === Array.isArray(b)) {
            const keys = new Set([...Object.keys(/** @type {object} */ (a)), ...Object.keys(/** @type {object} */ (b))]);
            for (const key of keys) {
                walk(own(a, key), own(b, key), `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`);
            }
        } else {
            found.push({ path: path || "/", before: a, after: b });
        }
    };
    walk(before, after, "");
    return found;
}

/**
 * A member that is there; nothing for one that every object has by birth.
 * @param {unknown} value
 * @param {string} key
 */
function own(value, key) {
    return Object.hasOwn(/** @type {object} */ (value), key) ? /** @type {any} */ (value)[key] : undefined;
}
