// The parts of the console that need no browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Exact, JsonError, changes, parse, print, read, same } from "../console/json.js";
import { problems } from "../console/schema.js";
import { compareMoments } from "../console/time.js";
import { Timeline } from "../console/timeline.js";
import { cut, inline } from "../console/value.js";
import { escaped, isOdd, pieces, plain } from "../console/visible.js";

test("characters that deceive are shown by number and name", () => {
    assert.equal(plain("a\u202Eb"), "a[U+202E right-to-left override]b");
    assert.equal(plain("pay\u200Bpal"), "pay[U+200B zero width space]pal");
    assert.equal(plain("x\u0007"), "x[U+0007 bell]");
    assert.equal(plain("\u{E0041}"), "[U+E0041 invisible tag]");
    assert.equal(plain("a\uD800b"), "a[U+D800 half a character]b");
    assert.equal(plain("10\u00A0000"), "10[U+00A0 no-break space]000");
    assert.equal(plain("a\u2003b"), "a[U+2003 unusual space]b");
});

test("every bidi control, zero width character and control is seen", () => {
    const all = [0x61c, 0x200b, 0x200c, 0x200d, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2060, 0x2066, 0x2067, 0x2068, 0x2069, 0xfeff, 0xad, 0x3164, 0x115f, 0xfff0, 0xfff8, 0xfffb];
    for (let code = 0; code < 0x20; code++) all.push(code);
    for (let code = 0x7f; code < 0xa0; code++) all.push(code);
    for (const code of all) assert.ok(isOdd(String.fromCodePoint(code)), code.toString(16));
});

test("ordinary text of any language stays as it is", () => {
    for (const text of ["plain", "Grüße", "שלום", "مرحبا", "日本語", "😀", "e\u0301", "a b", ""]) {
        assert.equal(isOdd(text), false, text);
        assert.equal(pieces(text).map((piece) => piece.text).join(""), text);
    }
});

test("line breaks are kept where lines are kept, and shown elsewhere", () => {
    assert.equal(isOdd("a\nb\tc", { lines: true }), false);
    assert.equal(plain("a\nb"), "a[U+000A line break]b");
    assert.ok(isOdd("a\rb", { lines: true }));
});

test("JSON to be edited has everything that is not seen written as an escape", () => {
    const value = { to: "a\u202Eb\u{E0041}\u00A0", lines: "x\ny" };
    const text = escaped(print(value, 2));
    assert.equal(isOdd(text, { lines: true }), false);
    assert.deepEqual(parse(text), value);
});

test("numbers that a double cannot hold stay as they were written", () => {
    const text = '{"big":9007199254740993,"huge":123456789012345678901234567890,"small":1.5,"list":[1,-7]}';
    const value = parse(text);
    assert.ok(value.big instanceof Exact);
    assert.equal(print(value), text);
    assert.equal(print(read(text)), text);
    assert.equal(read('{"a":1}').a, 1);
    assert.equal(same(parse("9007199254740993"), parse("9007199254740992")), false);
});

test("what is no JSON is said with its place", () => {
    for (const [text, message] of [
        ['{"a": }', "line 1, column 7: no value begins here"],
        ['{"a": 1,\n "a": 2}', 'line 2, column 2: the key "a" is there twice'],
        ['{"a": 1', "line 1, column 8: a comma or } is missing"],
        ["[1, 2", "line 1, column 6: a comma or ] is missing"],
        ['"a\nb"', "line 1, column 3: a control character or a line break must be written as an escape"],
        ["{} x", "line 1, column 4: something follows after the end"],
        ["", "line 1, column 1: the text ends too early"],
        ["01", "line 1, column 2: something follows after the end"],
        ['"\\x"', "line 1, column 2: there is no such escape"],
    ]) {
        assert.throws(() => parse(text), (error) => error instanceof JsonError && error.message === message, `${text}: ${message}`);
    }
    assert.throws(() => parse("[".repeat(200)), /nested deeper/);
});

test("a key called __proto__ is a key", () => {
    const value = parse('{"__proto__": {"a": 1}, "b": 2}');
    assert.equal(print(value), '{"__proto__":{"a":1},"b":2}');
    assert.equal({}.a, undefined);
});

test("what JSON.parse reads is read the same", () => {
    for (const text of ['{"a":[1,2.5,-3e2,true,false,null,"x\\u0041\\n\\\\"],"b":{}}', "[]", '"é"', "-0", "1e3", " [ 1 , 2 ] "]) {
        assert.deepEqual(parse(text), JSON.parse(text));
    }
});

test("changes name the path, what was and what is", () => {
    const found = changes({ a: 1, b: { c: [1, 2] }, d: 4 }, { a: 2, b: { c: [1, 3] }, e: 5 });
    assert.deepEqual(found.map((one) => [one.path, one.before, one.after]), [["/a", 1, 2], ["/b/c/1", 2, 3], ["/d", 4, undefined], ["/e", undefined, 5]]);
});

test("changes see keys that every object has by birth", () => {
    const paths = (before, after) => changes(parse(before), parse(after)).map((one) => [one.path, one.before, one.after]);
    assert.deepEqual(paths("{}", '{"constructor": 1}'), [["/constructor", undefined, 1]]);
    assert.deepEqual(paths('{"toString": {}}', "{}"), [["/toString", {}, undefined]]);
    assert.equal(paths("{}", '{"__proto__": {}}').length, 1);
    assert.equal(paths('{"__proto__": {}}', "{}").length, 1);
});

test("an answer of the server may be nested deeper than what people write", () => {
    const deep = `${'{"a":'.repeat(150)}12345678901234567890${"}".repeat(150)}`;
    assert.equal(print(read(deep)), deep);
    assert.throws(() => parse(deep), /nested deeper/);
    assert.ok(read('{"a":1e400}').a instanceof Exact);
});

test("moments are in order whatever is left out of their fractions", () => {
    const moments = ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.05Z", "2026-01-01T00:00:00.050001Z", "2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00.51Z", "2026-01-01T00:00:01Z"];
    assert.deepEqual(moments.toReversed().toSorted(compareMoments), moments);
    assert.equal(compareMoments("2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00.500Z"), 0);
});

test("nothing is cut in the middle of a character, and no value looks like a member", () => {
    assert.equal(cut("ab😀cd", 3), "ab…");
    assert.equal(cut("ab😀cd", 4), "ab😀…");
    assert.equal(inline({ a: 'x" · b 5', "b 5 · c": 1 }), 'a "x\\" · b 5" · "b 5 · c" 1');
    assert.equal(inline({ a: "x".repeat(100), b: 1 }), `a "${"x".repeat(60)}"… · b 1`);
});

test("a schema judges only what it knows", () => {
    const fits = (schema, text) => problems(schema, parse(text)).length === 0;
    // What is not known may be what makes the difference.
    assert.ok(fits({ not: { minProperties: 5 } }, "{}"));
    assert.ok(fits({ oneOf: [{ type: "string", format: "email" }, { type: "string", format: "uri" }] }, '"a@b.c"'));
    assert.ok(fits({ oneOf: [{ multipleOf: 2 }, { multipleOf: 3 }] }, "6"));
    assert.ok(fits({ oneOf: [{ if: { type: "string" }, then: false }, { type: "string" }] }, '"x"'));
    assert.ok(!fits({ oneOf: [{ type: "string" }, { type: "integer" }] }, "true"));
    assert.ok(!fits({ not: { type: "string" } }, '"x"'));
    // References that lead elsewhere.
    for (const $ref of ["#name", "other.json", "#/nothing/there", "#/%"]) assert.ok(fits({ type: "object", required: ["a"], properties: { a: { $ref } } }, '{"a": 1}'), $ref);
    assert.ok(fits({ $schema: "http://json-schema.org/draft-07/schema#", properties: { a: { $ref: "#/definitions/n", maximum: 1 } }, definitions: { n: { type: "integer" } } }, '{"a": 5}'));
    assert.ok(!fits({ properties: { a: { $ref: "#/$defs/n", maximum: 1 } }, $defs: { n: { type: "integer" } } }, '{"a": 5}'));
    // Bounds to the last digit, and those of old drafts.
    assert.ok(fits({ exclusiveMinimum: 9007199254740992 }, "9007199254740993"));
    assert.ok(!fits({ maximum: 9007199254740992 }, "9007199254740993"));
    assert.ok(fits({ minimum: 0, exclusiveMinimum: true }, "0.5"));
    // Keys that a pattern in another dialect may allow.
    assert.ok(fits({ additionalProperties: false, patternProperties: { "(?i)^x": {} } }, '{"X1": 1}'));
});

test("a pattern cannot stop the page", () => {
    const start = process.cpuUsage();
    assert.deepEqual(problems({ pattern: "^(a+)+$" }, `${"a".repeat(40)}!`), []);
    assert.deepEqual(problems({ pattern: "^.*.*.*.*.*=$" }, "a".repeat(400)), []);
    assert.deepEqual(problems({ pattern: "^[a-z]+$" }, "A".repeat(5_000)), []);
    assert.equal(problems({ pattern: "^[a-z]+$" }, "A").length, 1);
    assert.ok(process.cpuUsage(start).user < 5_000_000, "less than 5 seconds of work");
});

test("a schema says what does not fit, and where", () => {
    const schema = {
        type: "object", required: ["order", "amount"], additionalProperties: false,
        properties: { order: { type: "string", pattern: "^[A-Z]-[0-9]+$" }, amount: { type: "integer", minimum: 1, maximum: 5000 }, tags: { type: "array", items: { enum: ["a", "b"] }, maxItems: 2 }, note: { anyOf: [{ type: "null" }, { type: "string", maxLength: 3 }] }, kind: { $ref: "#/$defs/kind" } },
        $defs: { kind: { const: "x" } },
    };
    const said = (value) => problems(schema, value).map((one) => `${one.path}: ${one.message}`);
    assert.deepEqual(said({ order: "A-42", amount: 3, tags: ["a"], note: null, kind: "x" }), []);
    assert.deepEqual(said({ order: "A-42" }), ['/: "amount" is missing']);
    assert.deepEqual(said({ order: "a", amount: 9000 }), ["/order: does not fit the pattern ^[A-Z]-[0-9]+$", "/amount: must be at most 5000"]);
    assert.deepEqual(said({ order: "A-1", amount: 1.5 }), ["/amount: must be a whole number, and is a number"]);
    assert.deepEqual(said({ order: "A-1", amount: 1, more: 1 }), ["/more: there is no such argument"]);
    assert.deepEqual(said({ order: "A-1", amount: 1, tags: ["c"] }), ['/tags/0: must be one of "a", "b"']);
    assert.deepEqual(said({ order: "A-1", amount: 1, note: "long" }), ["/note: fits none of the forms that are allowed"]);
    assert.deepEqual(said({ order: "A-1", amount: 1, kind: "y" }), ['/kind: must be "x"']);
    assert.deepEqual(said([]), ["/: must be an object, and is a list"]);
    assert.deepEqual(problems({ type: "integer" }, parse("9007199254740993")), []);
});

test("events become rows in the order in which things happened", () => {
    const timeline = new Timeline();
    const at = (second) => `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`;
    const events = [
        { event: "run_started", actor: { id: "ana" }, at: at(0), messages: [{ role: "user", text: "hi" }] },
        { event: "turn_started", turn: 1 },
        { event: "message_completed", turn: 1, message: { text: "I pay.", calls: [{ id: "c", name: "pay", arguments: { amount: 1 } }] }, usage: { input: 5, output: 6 }, latency_us: 1000 },
        { event: "call_decided", turn: 1, index: 0, tool: "pay", decision: { decide: "confirm", reason: "money" }, at: at(1) },
        { event: "paused", reason: "awaiting_tool_confirmation", turn: 1 },
        { event: "done", stop_reason: "awaiting_tool_confirmation" },
        { event: "resumed", turn: 1 },
        { event: "call_answered", turn: 1, index: 0, tool: "pay", decision: "allow", actor: { id: "ben" }, at: at(11) },
        { event: "tool_started", turn: 1, index: 0, tool: "pay", attempt: 1, at: at(11) },
        { event: "tool_ended", turn: 1, index: 0, tool: "pay", outcome: "succeeded", latency_us: 2_000_000, attempt: 1, result: { blocks: [] } },
        { event: "done", stop_reason: "end_turn" },
    ];
    events.forEach((event, index) => timeline.take({ ...event, seq: index + 1 }));
    assert.deepEqual(timeline.rows.map((row) => row.kind), ["start", "turn", "said", "call", "pause", "answer", "resume", "end"]);
    const call = timeline.rows[3];
    assert.deepEqual([call.title, call.state, call.waitMs, call.runMs], ["pay", "done", 10_000, 2_000]);
    assert.equal(timeline.rows[5].title, "ben approved");
    assert.equal(timeline.over, true);
    // What comes twice counts once.
    const before = timeline.rows.length;
    timeline.take({ ...events[10], seq: 11 });
    assert.equal(timeline.rows.length, before);
});
