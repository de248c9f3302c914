// Arguments that want to deceive, to run, or to be too much.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { choose, close, launch, open } from "./browser.mjs";
import { Stage } from "./stage.mjs";

let stage;
let browser;
before(async () => {
    stage = await Stage.open();
    browser = await launch();
});
after(async () => {
    await browser?.close();
    await stage?.close();
});

test("markup of a model is text, and characters that deceive are seen", async () => {
    const run = await stage.run("mailer");
    const page = await open(browser, stage);
    await choose(page, "send_mail");
    await page.locator(".q-args").getByText("<script>window.hacked = 1</script>").waitFor();
    for (const name of ["U+202E right-to-left override", "U+200B zero width space", "U+0007 bell"]) await page.locator(".q-args .odd", { hasText: name }).waitFor();
    await page.keyboard.press("e");
    const text = page.getByLabel("Arguments as JSON");
    assert.match(await text.inputValue(), /ana@example\.com\\u202emoc\.live@/);
    await text.fill('{"to": "x\u202Ey", "text": "z"}');
    await page.getByText("Something in it cannot be seen:").waitFor();
    await page.goto(`${stage.url}/#/runs/${run.id}`);
    await page.locator(".event.said", { hasText: "<script>" }).waitFor();
    await page.getByRole("button", { name: "Conversation" }).click();
    await page.locator(".say.assistant", { hasText: "<img src=x" }).waitFor();
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.equal(await page.locator("main script, main img").count(), 0);
    await close(page);
});

test("ten thousand keys are shown piece by piece", async () => {
    await stage.run("archive");
    const page = await open(browser, stage);
    await choose(page, "store");
    await page.getByText("object with 10,000 members").first().waitFor();
    const rows = () => page.locator(".q-args .member").count();
    assert.ok((await rows()) < 100);
    await page.locator(".q-args").getByRole("button", { name: /^Show 400 more of 10,000/ }).click();
    assert.ok((await rows()) > 400);
    assert.ok((await rows()) < 1_000);
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByText("You approved.").waitFor();
    // Its second call has one text of 195,000 characters.
    await page.goto(`${stage.url}/#/inbox`);
    await choose(page, "store");
    await page.getByText(/cut: 400 of 195,057 characters/).first().waitFor();
    await page.getByRole("button", { name: "Show the end" }).first().click();
    await page.getByText("the end").first().waitFor();
    await page.getByRole("button", { name: "Show 20,000 more" }).first().click();
    await page.getByText(/cut: 20,400 of 195,057 characters/).first().waitFor();
    await close(page);
});

test("a megabyte in one argument does not stop the page", async () => {
    await stage.run("support");
    const page = await open(browser, stage);
    // More than the server takes: what a server with other limits might send.
    const text = `${"<b>\u202E".repeat(200_000)}the very end`;
    await page.route(/\/v1\/approvals\?/, async (route) => {
        const answer = await route.fetch();
        const json = await answer.json();
        for (const one of json.approvals) if (one.tool === "refund") one.arguments = { text, more: Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`k${index}`, { deep: [index] }])) };
        await route.fulfill({ response: answer, json });
    });
    await page.reload();
    await choose(page, "refund");
    await page.getByText(/cut: 400 of 800,012 characters/).first().waitFor();
    await page.getByRole("button", { name: "Show 20,000 more" }).first().click();
    await page.getByText(/cut: 20,400 of 800,012 characters/).first().waitFor();
    await page.getByText("object with 10,000 members").first().waitFor();
    // It still answers: the theme changes at once.
    await page.getByRole("button", { name: "Dark" }).click();
    await page.getByRole("button", { name: "Light" }).waitFor();
    await close(page);
});

test("a call that changed is not approved as it was", async () => {
    await stage.run("treasury");
    const page = await open(browser, stage);
    await choose(page, "transfer");
    const sent = [];
    page.on("request", (request) => request.url().endsWith("/answers") && sent.push(request.url()));
    await page.route(/\/v1\/approvals\?run=/, async (route) => {
        const answer = await route.fetch();
        const json = await answer.json();
        for (const one of json.approvals) Object.assign(one, { digest: "0".repeat(64), arguments: { ...one.arguments, amount: 99_999 } });
        await route.fulfill({ response: answer, json });
    });
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByText("The call changed meanwhile.").waitFor();
    await page.locator(".q-args", { hasText: "99999" }).waitFor();
    assert.deepEqual(sent, []);
    await close(page);
});

/** Lets the page see another question than the server has: what a server with other limits might send. */
async function disguise(page, tool, change) {
    await page.route(/\/v1\/approvals\?/, async (route) => {
        const answer = await route.fetch();
        const json = await answer.json();
        for (const one of json.approvals) if (one.tool === tool) change(one);
        await route.fulfill({ response: answer, json });
    });
    await page.reload();
}

test("keys that want to be taken for others are seen as what they are", async () => {
    await stage.run("operations");
    const page = await open(browser, stage, { person: "boss" });
    const long = `amount${"_".repeat(500)}end`;
    await disguise(page, "reboot", (one) => {
        one.arguments = { amount: 5, "amount ": 6, "amount  paid": 7, "": 8, "a\u202Eb": 9, [long]: 10, note: "ends blank  ", lead: " first", break: "line\n", only: "   ", emoji: `${"x".repeat(399)}😀😀` };
    });
    await choose(page, "reboot");
    const values = page.locator(".q-args");
    for (const text of ["ends with a space", "ends with 2 spaces", "begins with a space", "ends with a line break", "nothing but 3 spaces", "empty key"]) await values.getByText(text, { exact: true }).first().waitFor();
    await values.locator(".odd", { hasText: "U+202E right-to-left override" }).waitFor();
    await values.getByText("cut: 400 of 509 characters").waitFor();
    await values.locator("dt").getByRole("button", { name: "Show the other 109" }).click();
    await values.locator(".key", { hasText: "_end" }).waitFor();
    assert.equal(await values.locator(".key", { hasText: "amount  paid" }).evaluate((node) => getComputedStyle(node).whiteSpace), "pre-wrap");
    // No half of a character is left over at a cut.
    assert.equal(await values.getByText("half a character").count(), 0);
    await close(page);
});

test("a value cannot look like another argument in a row, and a tool's name deceives nowhere", async () => {
    await stage.run("operations");
    const page = await open(browser, stage, { person: "boss" });
    const name = "reboot\u202Etoober\u200B";
    await disguise(page, "reboot", (one) => {
        one.tool = name;
        one.name = name;
        one.reason = "safe\u202E<b>really</b>";
        one.arguments = { note: 'x" · amount 5', "amount 5 · to": "y", amount: 900 };
    });
    const row = page.locator(".row-link", { hasText: "U+202E" }).first();
    await row.waitFor();
    assert.match(await row.locator(".row-args").innerText(), /^note "x\\" · amount 5" · "amount 5 · to" "y" · amount 900$/);
    await row.click();
    await page.locator(".q-tool .odd").first().waitFor();
    assert.match(await page.title(), /reboot\[U\+202E right-to-left override\]toober\[U\+200B zero width space\]/);
    assert.equal(await page.locator(".q-why b", { hasText: "<b>really</b>" }).count(), 1);
    for (const label of await page.evaluate(() => [...document.querySelectorAll("[title], [aria-label]")].flatMap((node) => [node.title, node.ariaLabel ?? ""]))) assert.doesNotMatch(label, /[\u202E\u200B]/);
    await close(page);
});

test("numbers that a double cannot hold are shown, edited and sent digit by digit", async () => {
    const run = await stage.run("accountant");
    const page = await open(browser, stage);
    await choose(page, "book");
    await page.locator(".q-args", { hasText: "9007199254740993" }).waitFor();
    await page.keyboard.press("e");
    const text = page.getByLabel("Arguments as JSON");
    assert.match(await text.inputValue(), /9007199254740993/);
    await text.fill('{"amount": 9007199254740995, "text": "all of it"}');
    await page.locator(".differs", { hasText: "/amount from 9007199254740993 to 9007199254740995" }).waitFor();
    await page.getByRole("button", { name: "Approve with these arguments" }).click();
    await page.getByText("You approved with other arguments.").waitFor();
    await page.goto(`${stage.url}/#/runs/${run.id}`);
    await page.locator(".event.call", { hasText: "book" }).click();
    await page.locator(".detail .number", { hasText: "9007199254740995" }).waitFor();
    await close(page);
});

test("numbers above 64 bits that the server sends are kept", async () => {
    await stage.run("accountant");
    const page = await open(browser, stage);
    const huge = "123456789012345678901234567890";
    await page.route(/\/v1\/approvals\?/, async (route) => {
        const answer = await route.fetch();
        await route.fulfill({ response: answer, body: (await answer.text()).replaceAll("9007199254740993", huge) });
    });
    await page.reload();
    await choose(page, "book");
    await page.locator(".q-args .number", { hasText: huge }).waitFor();
    await page.keyboard.press("e");
    const text = page.getByLabel("Arguments as JSON");
    assert.match(await text.inputValue(), new RegExp(huge));
    await text.fill(`{"amount": ${huge}1, "text": "all of it"}`);
    await page.locator(".differs", { hasText: `/amount from ${huge} to ${huge}1` }).waitFor();
    const sent = page.waitForRequest((request) => request.url().endsWith("/answers"));
    await page.route("**/v1/runs/*/answers", (route) => route.abort());
    await page.getByRole("button", { name: "Approve with these arguments" }).click();
    assert.match((await sent).postData(), new RegExp(`"amount": ${huge}1`));
    await close(page);
});
