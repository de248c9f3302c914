// A tool's JSON Schema, checked while somebody types. What this does not know it does not judge: the server does, again and
// in full, before anything runs.

import { Exact, print, same } from "./json.js";

/** How many problems are shown. */
const PROBLEMS_MAX = 20;
/** How deep schemas may refer to each other. */
const DEPTH_MAX = 60;
/** Longer texts and patterns are left to the server, and so are patterns that might not end: this runs at every letter. */
const PATTERN_TEXT_MAX = 500;
const PATTERN_MAX = 300;
const PATTERN_LOOPS_MAX = 3;
/** Keywords that say something about values and that this does not know. All others are remarks. */
const UNKNOWN = [
    "multipleOf", "uniqueItems", "contains", "minContains", "maxContains", "minProperties", "maxProperties", "propertyNames",
    "dependentRequired", "dependentSchemas", "dependencies", "if", "then", "else", "unevaluatedItems", "unevaluatedProperties",
    "additionalItems", "$dynamicRef", "$recursiveRef", "format",
];

/** @typedef {{ path: string, message: string }} SchemaProblem */

/**
 * What does not fit.
 * @param {any} schema
 * @param {unknown} value
 * @returns {SchemaProblem[]}
 */
export function problems(schema, value) {
    const check = new Check(schema);
    check.at(schema, value, "", 0);
    return check.found.slice(0, PROBLEMS_MAX);
}

/** @param {unknown} value */
export function typeOf(value) {
    if (value === null) return "null";
    if (value instanceof Exact) return /^-?\d+$/.test(value.text) ? "integer" : "number";
    if (Array.isArray(value)) return "array";
    if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
    return typeof value;
}

/** @type {Record<string, string>} */
const WORDS = {
    string: "a text", number: "a number", integer: "a whole number", boolean: "true or false", object: "an object", array: "a list", null: "null",
};

class Check {
    /** @param {any} root */
    constructor(root) {
        this.root = root;
        // Drafts up to 7 look at nothing that stands beside a reference.
        this.alone = /draft-0[3-7]/.test(String(root?.$schema ?? ""));
        /** @type {SchemaProblem[]} */
        this.found = [];
        /** Whether something was met that only the server can judge. */
        this.unsure = false;
    }

    /** @param {string} path @param {string} message */
    say(path, message) {
        if (this.found.length < PROBLEMS_MAX) this.found.push({ path: path || "/", message });
    }

    /**
     * Whether a value fits; `unknown` where nothing speaks against it, and not everything was looked at.
     * @param {any} schema
     * @param {unknown} value
     * @param {number} depth
     * @returns {"yes" | "no" | "unknown"}
     */
    fits(schema, value, depth) {
        const inner = new Check(this.root);
        inner.at(schema, value, "", depth + 1);
        return inner.found.length ? "no" : inner.unsure ? "unknown" : "yes";
    }

    /** @param {any} schema @param {unknown} value @param {string} path @param {number} depth */
    at(schema, value, path, depth) {
        if (schema === false) this.say(path, "nothing is allowed here");
        if (schema === null || typeof schema !== "object" || this.found.length >= PROBLEMS_MAX) return;
        // What has a name of its own may mean another root by its references.
        if (depth > DEPTH_MAX || Array.isArray(schema) || (depth && typeof schema.$id === "string")) {
            this.unsure = true;
            return;
        }
        if (UNKNOWN.some((name) => Object.hasOwn(schema, name))) this.unsure = true;
        if (typeof schema.$ref === "string") {
            this.referred(schema.$ref, value, path, depth);
            if (this.alone) return;
        }
        if (!this.type(schema, value, path)) return;
        if (Array.isArray(schema.enum) && !schema.enum.some((/** @type {unknown} */ one) => same(one, value))) {
            this.say(path, `must be one of ${schema.enum.slice(0, 10).map((/** @type {unknown} */ one) => print(one)).join(", ")}`);
        }
        if (Object.hasOwn(schema, "const") && !same(schema.const, value)) this.say(path, `must be ${print(schema.const)}`);
        if (typeof value === "string") this.text(schema, value, path);
        if (typeof value === "number" || value instanceof Exact) this.number(schema, value, path);
        if (Array.isArray(value)) this.list(schema, value, path, depth);
        else if (value !== null && typeof value === "object" && !(value instanceof Exact)) this.object(schema, value, path, depth);
        this.combined(schema, value, path, depth);
    }

    /** @param {string} reference @param {unknown} value @param {string} path @param {number} depth */
    referred(reference, value, path, depth) {
        const found = this.resolve(reference);
        if (found === undefined) this.unsure = true;
        else this.at(found, value, path, depth + 1);
    }

    /** What a reference means; nothing where that is an anchor, another document, or not there. @param {string} reference */
    resolve(reference) {
        if (!/^#(\/|$)/.test(reference)) return undefined;
        let found = this.root;
        try {
            for (const part of reference.slice(1).split("/").slice(1)) {
                const name = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
                found = found !== null && typeof found === "object" && Object.hasOwn(found, name) ? found[name] : undefined;
            }
        } catch {
            return undefined;
        }
        return found;
    }

    /** @param {any} schema @param {unknown} value @param {string} path */
    type(schema, value, path) {
        if (schema.type === undefined) return true;
        const wanted = Array.isArray(schema.type) ? schema.type : [schema.type];
        const is = typeOf(value);
        if (wanted.includes(is) || (is === "integer" && wanted.includes("number"))) return true;
        const words = wanted.map((/** @type {string} */ name) => WORDS[name] ?? name).join(" or ");
        this.say(path, `must be ${words}, and is ${WORDS[is] ?? is}`);
        return false;
    }

    /** @param {any} schema @param {string} value @param {string} path */
    text(schema, value, path) {
        const length = [...value].length;
        if (schema.minLength > length) this.say(path, `has ${length} characters and needs ${schema.minLength}`);
        if (schema.maxLength < length) this.say(path, `has ${length} characters; at most ${schema.maxLength} are allowed`);
        if (typeof schema.pattern !== "string") return;
        const matched = matches(schema.pattern, value);
        if (matched === undefined) this.unsure = true;
        if (matched === false) this.say(path, `does not fit the pattern ${schema.pattern}`);
    }

    /** @param {any} schema @param {number | Exact} value @param {string} path */
    number(schema, value, path) {
        const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
        if (isNumber(minimum) && compare(value, minimum) < 0) this.say(path, `must be at least ${minimum}`);
        if (isNumber(maximum) && compare(value, maximum) > 0) this.say(path, `must be at most ${maximum}`);
        if (isNumber(exclusiveMinimum) && compare(value, exclusiveMinimum) <= 0) this.say(path, `must be above ${exclusiveMinimum}`);
        if (isNumber(exclusiveMaximum) && compare(value, exclusiveMaximum) >= 0) this.say(path, `must be below ${exclusiveMaximum}`);
        // An old draft has true and false there, and means the other bound.
        if ([exclusiveMinimum, exclusiveMaximum].some((bound) => typeof bound === "boolean")) this.unsure = true;
    }

    /** @param {any} schema @param {unknown[]} value @param {string} path @param {number} depth */
    list(schema, value, path, depth) {
        if (schema.minItems > value.length) this.say(path, `has ${value.length} items and needs ${schema.minItems}`);
        if (schema.maxItems < value.length) this.say(path, `has ${value.length} items; at most ${schema.maxItems} are allowed`);
        const first = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
        value.forEach((item, index) => {
            const rule = index < first.length ? first[index] : schema.items;
            if (rule !== undefined) this.at(rule, item, `${path}/${index}`, depth + 1);
        });
    }

    /** @param {any} schema @param {object} value @param {string} path @param {number} depth */
    object(schema, value, path, depth) {
        for (const key of Array.isArray(schema.required) ? schema.required : []) {
            if (!Object.hasOwn(value, key)) this.say(path, `${JSON.stringify(key)} is missing`);
        }
        const patterns = Object.entries(schema.patternProperties ?? {});
        for (const [key, item] of Object.entries(value)) {
            const below = `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
            const known = schema.properties && Object.hasOwn(schema.properties, key);
            if (known) this.at(schema.properties[key], item, below, depth + 1);
            const judged = patterns.map(([pattern, rule]) => /** @type {const} */ ([matches(pattern, key), rule]));
            for (const [matched, rule] of judged) if (matched) this.at(rule, item, below, depth + 1);
            const open = judged.some(([matched]) => matched === undefined);
            if (open) this.unsure = true;
            if (known || open || judged.some(([matched]) => matched) || schema.additionalProperties === undefined) continue;
            if (schema.additionalProperties === false) this.say(below, "there is no such argument");
            else this.at(schema.additionalProperties, item, below, depth + 1);
        }
    }

    /** @param {any} schema @param {unknown} value @param {string} path @param {number} depth */
    combined(schema, value, path, depth) {
        const none = "fits none of the forms that are allowed";
        const judge = (/** @type {any[]} */ rules) => rules.map((rule) => this.fits(rule, value, depth));
        for (const rule of Array.isArray(schema.allOf) ? schema.allOf : []) this.at(rule, value, path, depth + 1);
        if (Array.isArray(schema.anyOf)) {
            const fits = judge(schema.anyOf);
            if (fits.every((one) => one === "no")) this.say(path, none);
            else if (!fits.includes("yes")) this.unsure = true;
        }
        if (Array.isArray(schema.oneOf)) {
            const fits = judge(schema.oneOf);
            const sure = fits.filter((one) => one === "yes").length;
            if (sure > 1) this.say(path, "fits several forms where only one may fit");
            else if (fits.includes("unknown")) this.unsure = true;
            else if (!sure) this.say(path, none);
        }
        if (schema.not === undefined) return;
        const fits = this.fits(schema.not, value, depth);
        if (fits === "yes") this.say(path, "has a form that is not allowed");
        if (fits === "unknown") this.unsure = true;
    }
}

/** @param {unknown} bound */
function isNumber(bound) {
    return typeof bound === "number" || bound instanceof Exact;
}

/** Below 0, 0 or above 0. Whole numbers are compared to their last digit. @param {number | Exact} a @param {number | Exact} b */
function compare(a, b) {
    const [left, right] = [String(a), String(b)];
    if (![left, right].every((text) => /^-?\d+$/.test(text))) return Number(left) - Number(right);
    const difference = BigInt(left) - BigInt(right);
    return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/**
 * Whether a text fits a pattern; nothing where only the server can tell: a pattern in another dialect, or one that might
 * take for ever.
 * @param {string} pattern
 * @param {string} text
 * @returns {boolean | undefined}
 */
function matches(pattern, text) {
    const loops = pattern.match(/[+*]|\{\d+,/g)?.length ?? 0;
    // A group that repeats may have one inside that does too: then the time doubles with each letter.
    if (text.length > PATTERN_TEXT_MAX || pattern.length > PATTERN_MAX || loops > PATTERN_LOOPS_MAX || /\)[+*{]/.test(pattern)) return undefined;
    try {
        return new RegExp(pattern, "u").test(text);
    } catch {
        return undefined;
    }
}
