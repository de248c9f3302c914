// Everybody can use it: axe-core finds nothing, in both themes, on a desk and on a phone.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { AXE, choose, close, launch, open } from "./browser.mjs";
import { Stage } from "./stage.mjs";

const PHONE = { width: 390, height: 844 };
const DESK = { width: 1280, height: 800 };

let stage;
let browser;
let run;
before(async () => {
    stage = await Stage.open();
    browser = await launch();
    run = await stage.run("support");
    for (const agent of ["treasury", "mailer", "archive", "broken"]) await stage.run(agent);
    await stage.run("shipping");
    const { tasks: [task] } = await stage.ask("robot", "/v1/tasks/lease", { max: 1, lease_ms: 60_000, wait_ms: 5_000 });
    await stage.ask("robot", `/v1/tasks/${encodeURIComponent(task.id)}/fail`, { lease: task.lease, started: true });
    const bank = await stage.run("bank");
    const [question] = bank.pending;
    await stage.ask("ana", `/v1/runs/${bank.id}/answers`, { continuation_id: bank.continuation_id, decisions: [{ call_id: question.id, decision: "allow", digest: question.digest }] });
    await stage.until(bank.id, ({ pending }) => pending.some((one) => one.doubt?.asks));
});
after(async () => {
    await browser?.close();
    await stage?.close();
});

/** What axe-core finds, in words. */
async function violations(page) {
    // The page's own policy lets no script in: axe is put in from outside, as a debugger would.
    await page.evaluate(await (await import("node:fs/promises")).readFile(AXE, "utf8"));
    const found = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
    return found.violations.map((one) => `${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`);
}

const PAGES = {
    inbox: { path: "#/inbox", shows: ".row-link" },
    runs: { path: "#/runs", shows: "tbody tr" },
    run: { path: () => `#/runs/${run.id}`, shows: ".event.call" },
    start: { path: "#/start", shows: "option" },
    agents: { path: "#/agents", shows: ".card" },
    policy: { path: "#/policy/support", shows: "option" },
    grants: { path: "#/grants", shows: ".table-note" },
    queue: { path: "#/queue", shows: "tbody tr" },
    audit: { path: "#/audit", shows: "tbody tr" },
};

for (const theme of ["light", "dark"]) {
    for (const [where, size] of [["desk", DESK], ["phone", PHONE]]) {
        test(`no violation on any page: ${theme}, ${where}`, async () => {
            const page = await open(browser, stage, { person: "boss", theme, size });
            const found = [];
            const look = async (name) => found.push(...(await violations(page)).map((one) => `${name}: ${one}`));
            for (const [name, { path, shows }] of Object.entries(PAGES)) {
                await page.goto(`${stage.url}/${typeof path === "function" ? path() : path}`);
                await page.locator(shows).first().waitFor({ state: "attached" });
                await look(name);
                const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
                if (wide > 0) found.push(`${name} is ${wide} pixels too wide`);
            }
            for (const tool of ["refund", "send_mail", "book_shipment"]) {
                await page.goto(`${stage.url}/#/inbox`);
                await choose(page, tool);
                await page.locator(".talk").waitFor();
                await look(tool);
            }
            await page.goto(`${stage.url}/#/inbox`);
            await choose(page, "refund");
            for (const key of ["e", "d", "m", "s", "r"]) {
                await page.keyboard.press(key);
                await page.locator(".answer-form").waitFor();
                await look(`form ${key}`);
                await page.keyboard.press("Escape");
            }
            await page.goto(`${stage.url}/#/inbox`);
            await choose(page, "desk__open_account");
            await look("what a tool asks");
            await page.keyboard.press("s");
            await page.getByLabel("Owner").waitFor();
            await look("fields for what a tool asks");
            await page.keyboard.press("Escape");
            await page.keyboard.press("?");
            await page.locator("dialog[open]").waitFor();
            await look("help");
            await page.keyboard.press("Escape");
            await page.context().clearCookies();
            await page.goto(`${stage.url}/#/runs`);
            await page.getByRole("heading", { name: "Your session is over" }).waitFor();
            await look("signing in again");
            assert.deepEqual(found, []);
            await close(page);
        });
    }
}

test("no violation where one signs in", async () => {
    const page = await open(browser, stage, { person: null });
    await page.getByLabel("Token").waitFor();
    assert.deepEqual(await violations(page), []);
    await close(page);
});

test("the theme is the system's until one chooses, and the choice stays", async () => {
    const page = await open(browser, stage, { theme: "dark" });
    const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const dark = await background();
    await page.getByRole("button", { name: "Light" }).click();
    const light = await background();
    assert.notEqual(dark, light);
    await page.reload();
    await page.getByRole("button", { name: "Dark" }).waitFor();
    assert.equal(await background(), light);
    await close(page);
});

test("a notification comes when it is allowed and the page is hidden, without arguments", async () => {
    const page = await open(browser, stage, { options: { permissions: ["notifications"] } });
    await page.evaluate(() => {
        window.shown = [];
        window.Notification = class {
            static permission = "granted";
            constructor(title, options) {
                window.shown.push(`${title}: ${options.body}`);
            }
        };
        Object.defineProperty(document, "hidden", { get: () => true });
    });
    await stage.run("support");
    await page.waitForFunction(() => window.shown.length > 0);
    const [text] = await page.evaluate(() => window.shown);
    assert.equal(text, "refund waits for you: a refund above 100 needs somebody from finance");
    await close(page);
});

test("a server without tokens has no sign-in: whoever is on this machine is the local admin", async () => {
    const local = await Stage.open({ people: false });
    try {
        await local.run("support", "hi", null);
        const page = await open(browser, local);
        await choose(page, "refund");
        await page.getByRole("button", { name: "Approve", exact: true }).click();
        await page.getByText("You approved.").waitFor();
        assert.equal(await page.getByRole("button", { name: "Sign out" }).count(), 0);
        await close(page);
    } finally {
        await local.close();
    }
});
