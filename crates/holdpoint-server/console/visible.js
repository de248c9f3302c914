// Text of models and tools, shown so that nothing in it can deceive: what would turn the direction of writing, or would
// not be seen at all, is shown as its number and its name.

/** The names of those that are met most often; others are called by their kind. */
const NAMES = new Map([
    [0x00, "null"], [0x07, "bell"], [0x08, "backspace"], [0x09, "tab"], [0x0a, "line break"], [0x0d, "carriage return"],
    [0x1b, "escape"], [0x7f, "delete"], [0xa0, "no-break space"], [0xad, "soft hyphen"], [0x61c, "Arabic letter mark"],
    [0x200b, "zero width space"], [0x200c, "zero width non-joiner"], [0x200d, "zero width joiner"],
    [0x200e, "left-to-right mark"], [0x200f, "right-to-left mark"], [0x2028, "line separator"],
    [0x2029, "paragraph separator"], [0x202a, "left-to-right embedding"], [0x202b, "right-to-left embedding"],
    [0x202c, "end of direction"], [0x202d, "left-to-right override"], [0x202e, "right-to-left override"],
    [0x2060, "word joiner"], [0x2066, "left-to-right isolate"], [0x2067, "right-to-left isolate"],
    [0x2068, "first strong isolate"], [0x2069, "end of isolate"], [0xfeff, "byte order mark"],
]);

/**
 * Controls, soft hyphen and fillers; spaces that are not the space; zero width, directions, invisible operators; variation
 * selectors, the byte order mark, annotations, tags; whatever else Unicode says may be drawn as nothing; halves of pairs that
 * are no character.
 */
const ODD = new RegExp(
    "[\\u0000-\\u001f\\u007f-\\u00a0\\u00ad\\u034f\\u061c\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f"
        + "\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u2800\\u3000\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb"
        + "\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}\\ud800-\\udfff\\p{Default_Ignorable_Code_Point}]",
    "u",
);
const ODD_ALL = new RegExp(ODD.source, "gu");

/**
 * A piece of a text: as it is, or a character that is shown by its name.
 * @typedef {{ text: string, odd: false } | { text: string, odd: true, name: string }} Piece
 */

/**
 * Whether a text has anything in it that must be made visible. Line breaks and tabs are visible where lines are kept.
 * @param {string} text
 * @param {{ lines?: boolean }} [options]
 */
export function isOdd(text, options) {
    if (!ODD.test(text)) return false;
    return pieces(text, options).some((piece) => piece.odd);
}

/**
 * Takes a text apart.
 * @param {string} text
 * @param {{ lines?: boolean }} [options] `lines`: line breaks and tabs stay as they are.
 * @returns {Piece[]}
 */
export function pieces(text, { lines = false } = {}) {
    /** @type {Piece[]} */
    const found = [];
    let from = 0;
    for (const match of text.matchAll(ODD_ALL)) {
        const [letter] = match;
        if (lines && (letter === "\n" || letter === "\t")) continue;
        if (match.index > from) found.push({ text: text.slice(from, match.index), odd: false });
        found.push({ text: numbered(letter), odd: true, name: nameOf(letter) });
        from = match.index + letter.length;
    }
    if (from < text.length) found.push({ text: text.slice(from), odd: false });
    return found;
}

/**
 * The same as plain text, for places that take no markup: titles, notifications, names for screen readers.
 * @param {string} text
 */
export function plain(text) {
    return pieces(text).map((piece) => (piece.odd ? `[${piece.text} ${piece.name}]` : piece.text)).join("");
}

/**
 * JSON text in which whatever would not be seen is written as an escape: the same value, and all of it visible.
 * @param {string} text
 */
export function escaped(text) {
    return text.replaceAll(ODD_ALL, (letter) => {
        if (letter === "\n" || letter === "\t") return letter;
        return Array.from({ length: letter.length }, (_, index) => `\\u${letter.charCodeAt(index).toString(16).padStart(4, "0")}`).join("");
    });
}

/** @param {string} letter */
function numbered(letter) {
    const code = letter.codePointAt(0) ?? 0;
    return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** @param {string} letter */
function nameOf(letter) {
    const code = letter.codePointAt(0) ?? 0;
    const known = NAMES.get(code);
    if (known) return known;
    if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return "control character";
    if (code >= 0xd800 && code <= 0xdfff) return "half a character";
    if (code >= 0xe0000 && code <= 0xe0fff) return "invisible tag";
    if (code >= 0xfe00 && code <= 0xfe0f) return "variation selector";
    if (code === 0x1680 || (code >= 0x2000 && code <= 0x200a) || [0x202f, 0x205f, 0x3000].includes(code)) return "unusual space";
    return "invisible character";
}
