// More questions than one page has, and people who may see only some of them.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { choose, close, launch, open } from "./browser.mjs";
import { Stage } from "./stage.mjs";

/** More than one page of 50. */
const MANY = 120;

let stage;
let browser;
before(async () => {
    stage = await Stage.open();
    browser = await launch();
    for (let index = 0; index < MANY; index += 20) await Promise.all(Array.from({ length: 20 }, () => stage.run("treasury")));
    // Its deadline is the last: it stands after all others.
    await stage.run("operations");
});
after(async () => {
    await browser?.close();
    await stage?.close();
});

/** Scrolls until the end of the list is seen. */
async function scrollDown(page) {
    await page.locator(".virtual").evaluate((list) => { list.scrollTop = list.scrollHeight; });
}

test("the rest of a long list comes as one scrolls", async () => {
    const page = await open(browser, stage, { person: "boss" });
    await page.getByText("50 and more waiting").waitFor();
    for (let pages = 0; pages < 3 && !(await page.getByText(`${MANY + 1} waiting`).count()); pages++) {
        const before = await page.locator(".row-link").first().locator("xpath=..").getAttribute("aria-setsize");
        await scrollDown(page);
        await page.waitForFunction((size) => document.querySelector(".virtual-row")?.getAttribute("aria-setsize") !== size, before);
    }
    await scrollDown(page);
    await choose(page, "reboot");
    assert.match(await page.title(), new RegExp(`^\\(${MANY + 1}\\) `));
    await close(page);
});

test("who may not read sees what is for them, behind pages of what is not", async () => {
    const page = await open(browser, stage, { person: "cara" });
    await page.locator(".row-link", { hasText: "reboot" }).waitFor();
    assert.equal(await page.locator(".row-link").count(), 1);
    await choose(page, "reboot");
    await page.getByText("Your token may not read the conversation").waitFor();
    await page.getByRole("button", { name: "Approve", exact: true }).waitFor();
    await close(page);
});

test("nothing waits only where everything was looked at", async () => {
    const page = await open(browser, stage, { person: "cara" });
    let release;
    const held = new Promise((resolve) => { release = resolve; });
    await page.route(/\/v1\/approvals\?.*cursor=/, async (route) => {
        await held;
        await route.continue().catch(() => null);
    });
    const asked = page.waitForRequest(/cursor=/);
    await page.reload();
    await asked;
    await page.getByText("Looking…").first().waitFor();
    assert.equal(await page.getByText("Nothing waits").count(), 0);
    release();
    await page.locator(".row-link", { hasText: "reboot" }).waitFor();
    await close(page);
});

test("a page that cannot be read is asked for again after a while, not at once and for ever", async () => {
    const page = await open(browser, stage, { person: "boss" });
    let refused = 0;
    await page.route(/\/v1\/approvals\?.*cursor=/, (route) => {
        refused += 1;
        return route.fulfill({ status: 503, contentType: "application/problem+json", body: '{"code":"unavailable","detail":"the store is away"}' });
    });
    await page.reload();
    await page.getByText("50 and more waiting").waitFor();
    await scrollDown(page);
    await page.getByText("The others could not be read: the store is away.").waitFor();
    const before = refused;
    // A hundred drawings later.
    await page.evaluate(async () => {
        for (let frame = 0; frame < 100; frame++) await new Promise((resolve) => requestAnimationFrame(resolve));
    });
    assert.ok(refused < before + 20, `${refused - before} more requests`);
    await page.unroute(/\/v1\/approvals\?.*cursor=/);
    await page.getByText(/^(100 and more|121) waiting/).waitFor();
    await close(page);
});

test("a list that is scrolled stays where it is when something changes", async () => {
    const page = await open(browser, stage, { person: "boss" });
    await page.getByText("50 and more waiting").waitFor();
    await page.locator(".row-link").first().focus();
    const place = await page.locator(".virtual").evaluate((list) => {
        list.scrollTop = 1_500;
        return list.scrollTop;
    });
    const other = await stage.run("mailer");
    await page.waitForFunction(() => !document.title.startsWith("(50+)"));
    const now = await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve([document.querySelector(".virtual").scrollTop, document.activeElement?.className])))));
    assert.equal(now[0], place);
    assert.match(now[1], /row-link/, "the focus stays too");
    await stage.ask("boss", `/v1/runs/${other.id}/cancel`, undefined, "POST");
    await close(page);
});

test("the inbox is narrowed to one agent", async () => {
    const page = await open(browser, stage, { person: "boss" });
    await page.getByText("50 and more waiting").waitFor();
    await page.getByLabel("Agent").selectOption("operations");
    await page.getByText(/^1 waiting/).waitFor();
    assert.equal(await page.locator(".row-link").count(), 1);
    await page.getByLabel("Agent").selectOption("support");
    await page.getByText("Nothing of support waits for boss.").waitFor();
    // What comes meanwhile is shown only where it fits.
    const run = await stage.run("support");
    await page.locator(".row-link", { hasText: "refund" }).waitFor();
    await page.getByLabel("Agent").selectOption("");
    await page.getByText(/and more waiting/).waitFor();
    await stage.ask("boss", `/v1/runs/${run.id}/cancel`, undefined, "POST");
    await close(page);
});
