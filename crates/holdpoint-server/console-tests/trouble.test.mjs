// What goes wrong around an answer: lost responses, sessions that end, servers that say no, clocks that are wrong.

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { choose, close, launch, open } from "./browser.mjs";
import { PEOPLE, Stage, Wire } from "./stage.mjs";

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
afterEach(async () => {
    for (const { id } of (await stage.ask("boss", "/v1/runs?limit=200")).runs) await stage.ask("boss", `/v1/runs/${id}/cancel`, undefined, "POST").catch(() => null);
});

const ANSWERS = "**/v1/runs/*/answers";
const STREAM = "**/v1/approvals/events";
const LOOK = /\/v1\/approvals\?run=/;
const status = async (id) => (await stage.ask("ana", `/v1/runs/${id}`)).status;
const approveButton = (page) => page.getByRole("button", { name: "Approve", exact: true });
const focused = (page) => page.evaluate(() => document.activeElement?.className ?? "");
const problem = (code, detail) => ({ contentType: "application/problem+json", body: JSON.stringify({ code, title: detail, detail }) });

test("an answer whose response was lost is found to have arrived", async () => {
    const run = await stage.run("support");
    const page = await open(browser, stage);
    await choose(page, "refund");
    // The page hears of nothing but by looking.
    await page.route(STREAM, (route) => route.abort());
    await page.reload();
    await page.route(ANSWERS, async (route) => {
        await route.fetch();
        await page.route(LOOK, (look) => look.abort());
        await route.abort();
    });
    await approveButton(page).click();
    await page.getByText("It is not known whether it got your answer.").waitFor();
    await page.unroute(LOOK);
    await page.unroute(ANSWERS);
    const sent = [];
    page.on("request", (request) => request.url().endsWith("/answers") && sent.push(request.url()));
    await approveButton(page).click();
    await page.getByText("Your earlier answer arrived: you approved.").waitFor();
    assert.equal(await page.getByText("was faster").count(), 0);
    assert.deepEqual(sent, []);
    assert.equal(await status(run.id), "finished");
    await close(page);
});

test("when the look before sending fails, nothing was sent and that is said", async () => {
    const run = await stage.run("support");
    const page = await open(browser, stage);
    await choose(page, "refund");
    await page.route(LOOK, (route) => route.abort());
    const sent = [];
    page.on("request", (request) => request.url().endsWith("/answers") && sent.push(request.url()));
    await approveButton(page).click();
    await page.getByText("The server was not reached.").waitFor();
    await page.getByText("Nothing was sent").waitFor();
    assert.deepEqual(sent, []);
    assert.equal(await status(run.id), "awaiting_tool_confirmation");
    await close(page);
});

test("a session that ends in the middle of an answer costs nothing that was typed", async () => {
    const run = await stage.run("support");
    const page = await open(browser, stage);
    await choose(page, "refund");
    await page.keyboard.press("d");
    await page.getByLabel("Reason").fill("seen twice already");
    await page.context().clearCookies();
    await page.getByRole("button", { name: "Refuse", exact: true }).click();
    await page.getByRole("heading", { name: "Your session is over" }).waitFor();
    await page.getByText("You are signed out.").first().waitFor();
    await page.getByLabel("Token").fill(PEOPLE.ana.secret);
    await page.locator("dialog").getByRole("button", { name: "Sign in" }).click();
    await page.getByText("Signed in again.").waitFor();
    assert.equal(await page.getByLabel("Reason").inputValue(), "seen twice already");
    assert.equal(await status(run.id), "awaiting_tool_confirmation", "nothing is sent by signing in");
    await page.getByRole("button", { name: "Refuse", exact: true }).click();
    await page.getByText("You refused.").waitFor();
    assert.match(JSON.stringify(await stage.ask("ana", `/v1/runs/${run.id}/messages`)), /seen twice already/);
    await close(page);
});

test("somebody else who signs in gets a page of their own", async () => {
    await stage.run("support");
    const page = await open(browser, stage);
    await choose(page, "refund");
    await page.context().clearCookies();
    await approveButton(page).click();
    await page.getByLabel("Token").fill(PEOPLE.ben.secret);
    await page.locator("dialog").getByRole("button", { name: "Sign in" }).click();
    await page.locator(".who", { hasText: "ben" }).waitFor();
    assert.equal(await page.getByText("You approved.").count(), 0);
    await close(page);
});

test("a server that has too much to do is said so, and the answer can be sent again", async () => {
    await stage.run("support");
    const page = await open(browser, stage);
    await choose(page, "refund");
    await page.keyboard.press("d");
    await page.getByLabel("Reason").fill("no");
    await page.route(ANSWERS, (route) => route.fulfill({ status: 429, ...problem("too_many_requests", "too many requests") }));
    await page.getByRole("button", { name: "Refuse", exact: true }).click();
    await page.getByText("It was not accepted, and nothing changed.").waitFor();
    // Whoever uses the keyboard goes on from where they were.
    await page.locator(".answer-form button:focus", { hasText: "Refuse" }).waitFor();
    await page.unroute(ANSWERS);
    await page.keyboard.press("Enter");
    await page.getByText("You refused.").waitFor();
    await close(page);
});

test("after an answer the focus is on the question, and j goes to the next", async () => {
    for (const agent of ["treasury", "support", "mailer"]) await stage.run(agent);
    const page = await open(browser, stage);
    await page.locator(".row-link").nth(2).waitFor();
    await choose(page, "refund");
    await page.keyboard.press("a");
    await page.keyboard.press("Enter");
    await page.getByText("You approved.").first().waitFor();
    await page.waitForFunction(() => document.activeElement?.classList.contains("question"));
    await page.keyboard.press("j");
    await page.locator(".q-tool", { hasText: "send_mail" }).waitFor();
    await page.keyboard.press("k");
    await page.locator(".q-tool", { hasText: "transfer" }).waitFor();
    // Somebody is faster: the focus is not lost with the button.
    await page.route(STREAM, (route) => route.abort());
    await page.reload();
    await page.locator(".q-tool", { hasText: "transfer" }).waitFor();
    const [question] = (await stage.ask("ben", "/v1/approvals")).approvals.filter((one) => one.tool === "transfer");
    await stage.ask("ben", `/v1/runs/${question.run_id}/answers`, { batch_id: question.batch_id, partial: true, decisions: [{ call_id: question.call_id, decision: "deny" }] });
    await page.keyboard.press("a");
    await page.keyboard.press("Enter");
    await page.getByText("ben was faster.").waitFor();
    await page.waitForFunction(() => document.activeElement?.classList.contains("question"));
    await close(page);
});

test("arrows scroll a question, and walk through the list only where the list has the focus", async () => {
    for (const agent of ["treasury", "support"]) await stage.run(agent);
    const page = await open(browser, stage);
    await page.locator(".row-link").nth(1).waitFor();
    await choose(page, "transfer");
    assert.match(await focused(page), /question/);
    const address = page.url();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowUp");
    assert.equal(page.url(), address);
    assert.match(await focused(page), /question/);
    await page.locator(".row-link").first().focus();
    await page.keyboard.press("ArrowDown");
    await page.locator(".row-link:focus", { hasText: "refund" }).waitFor();
    assert.equal(page.url(), address, "nothing is opened by an arrow");
    await close(page);
});

test("a question that arrives while the list is read is not lost", async () => {
    const page = await open(browser, stage);
    await page.getByText("Nothing waits for ana.").waitFor();
    let release;
    const held = new Promise((resolve) => { release = resolve; });
    await page.route(/\/v1\/approvals\?limit=50$/, async (route) => {
        // What the server knows now, brought later.
        const answer = await route.fetch();
        await held;
        await route.fulfill({ response: answer }).catch(() => null);
    });
    const listening = page.waitForResponse((answer) => answer.url().endsWith("/v1/approvals/events"));
    await page.reload();
    await listening;
    await stage.run("support");
    await page.locator(".row-link", { hasText: "refund" }).waitFor();
    release();
    await page.getByText(/1 waiting/).first().waitFor();
    assert.equal(await page.locator(".row-link").count(), 1);
    await close(page);
});

test("a notification that cannot be shown does not end the stream", async () => {
    const page = await open(browser, stage);
    await page.getByText("Nothing waits for ana.").waitFor();
    const streams = [];
    page.on("request", (request) => request.url().endsWith("/v1/approvals/events") && streams.push(request.url()));
    await page.evaluate(() => {
        window.Notification = class {
            static permission = "granted";
            constructor() {
                throw new TypeError("Illegal constructor");
            }
        };
        Object.defineProperty(document, "hidden", { get: () => true, configurable: true });
    });
    await stage.run("support");
    await page.waitForFunction(() => document.title.startsWith("(1)"));
    await stage.run("support");
    await page.waitForFunction(() => document.title.startsWith("(2)"));
    assert.deepEqual(streams, []);
    await close(page);
});

test("a clock that is wrong changes neither deadlines nor since when the connection is lost", async () => {
    const wire = await Wire.open(stage);
    await stage.run("support");
    const page = await open(browser, wire);
    await page.clock.setSystemTime(Date.now() - 3 * 3_600_000);
    await page.reload();
    await choose(page, "refund");
    await page.locator(".q-until .left", { hasText: /3 h 5\d min left/ }).waitFor();
    wire.cut();
    await page.locator(".banner", { hasText: /The connection was lost (just now|\d+ s ago)/ }).waitFor();
    await close(page);
    wire.close();
});

test("a stream that the server refuses is said, and one that it cannot go on with begins anew", async () => {
    const wire = await Wire.open(stage);
    const page = await open(browser, wire);
    await page.getByText("Nothing waits for ana.").waitFor();
    // A server whose store was restored does not know the number that this page goes on from.
    await page.route(STREAM, (route) => (route.request().headers()["last-event-id"] ? route.fulfill({ status: 422, ...problem("invalid_cursor", "start the list again without a cursor") }) : route.continue()));
    wire.cut();
    await page.getByText("Not connected.").waitFor();
    await stage.run("support");
    wire.mend();
    await page.locator(".row-link", { hasText: "refund" }).waitFor();
    await stage.run("treasury");
    await page.locator(".row-link", { hasText: "transfer" }).waitFor();
    await page.unroute(STREAM);
    await page.route(STREAM, (route) => route.fulfill({ status: 403, ...problem("forbidden", "no") }));
    await page.reload();
    await page.getByText("Nothing new comes.").waitFor();
    await close(page);
    wire.close();
});

test("a run whose own stream does not come says so", async () => {
    const run = await stage.run("support");
    const page = await open(browser, stage);
    await page.locator(".row-link").first().waitFor();
    await page.route("**/v1/runs/*/events", (route) => route.fulfill({ status: 429, ...problem("too_many_requests", "too many streams") }));
    await page.goto(`${stage.url}/#/runs/${run.id}`);
    await page.getByText("Not connected.").waitFor();
    await page.unroute("**/v1/runs/*/events");
    await page.locator(".event.call", { hasText: "refund" }).waitFor();
    await page.locator(".banner:not(.on)").waitFor({ state: "attached" });
    await close(page);
});

test("one's own approval is not offered to be taken back, and the true reason is said", async () => {
    await stage.run("treasury");
    const page = await open(browser, stage);
    await choose(page, "transfer");
    await approveButton(page).click();
    await page.getByText("It waits for 1 more.").waitFor();
    await page.getByText("It waits for somebody else too.").waitFor();
    assert.equal(await page.getByRole("button", { name: "Refuse…" }).count(), 0);
    // A page that was loaded later cannot know whether a grant said it.
    await page.reload();
    await page.getByRole("button", { name: "Refuse…" }).click();
    await page.getByRole("button", { name: "Refuse", exact: true }).click();
    await page.getByText("You approved this yourself.").waitFor();
    assert.equal(await page.getByText("went on meanwhile").count(), 0);
    await close(page);
});

test("an approval may have a reason, and an edit may be remembered", async () => {
    const run = await stage.run("support");
    const page = await open(browser, stage);
    await choose(page, "refund");
    await page.keyboard.press("r");
    await page.getByRole("textbox", { name: "Reason" }).fill("seen the kettle myself");
    await page.locator(".answer-form").getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByText("You approved.").waitFor();
    const { events } = await stage.ask("ana", `/v1/runs/${run.id}/events`);
    assert.equal(events.find((event) => event.event === "call_answered")?.reason, "seen the kettle myself");
    await stage.run("support");
    await page.goto(`${stage.url}/#/inbox`);
    await choose(page, "refund");
    await page.keyboard.press("e");
    await page.getByLabel("Arguments as JSON").fill('{"order": "A-42", "amount": 170}');
    await page.getByLabel("Let it count again for such calls").check();
    await page.getByLabel("Where").selectOption("tenant");
    await page.getByRole("button", { name: "Approve with these arguments" }).click();
    await page.getByText("You approved with other arguments, and it is remembered.").waitFor();
    const { grants } = await stage.ask("ana", "/v1/grants");
    assert.deepEqual(grants.map((grant) => [grant.tool, grant.scope]), [["refund", "tenant"]]);
    for (const { id } of grants) await stage.ask("ana", `/v1/grants/${id}`, undefined, "DELETE");
    await close(page);
});

test("what the page finds wrong with arguments does not stand in the way of the server", async () => {
    const run = await stage.run("support");
    const page = await open(browser, stage);
    // The page knows another schema than the server.
    await page.route("**/v1/tools", async (route) => {
        const answer = await route.fetch();
        const text = (await answer.text()).replaceAll('"maximum":5000', '"maximum":100');
        await route.fulfill({ response: answer, body: text });
    });
    await page.reload();
    await choose(page, "refund");
    await page.keyboard.press("e");
    await page.getByLabel("Arguments as JSON").fill('{"order": "A-42", "amount": 150}');
    await page.getByText("must be at most 100").waitFor();
    assert.ok(await page.getByRole("button", { name: "Approve with these arguments" }).isDisabled());
    await page.getByRole("button", { name: "Let the server judge" }).click();
    await page.getByText("You approved with other arguments.").waitFor();
    assert.match(JSON.stringify(await stage.ask("ana", `/v1/runs/${run.id}/messages`)), /paid 150 back/);
    await close(page);
});

test("the policy is asked with a context", async () => {
    const page = await open(browser, stage, { person: "boss", path: "#/policy/support" });
    await page.getByLabel("Tool").selectOption("refund");
    await page.getByLabel("Context: customer").fill("4711");
    const asked = page.waitForRequest((request) => request.url().endsWith("/v1/policy/explain"));
    await page.getByRole("button", { name: "Explain" }).click();
    assert.deepEqual((await asked).postDataJSON().context, { customer: 4711 });
    await page.getByRole("region", { name: "Explanation" }).waitFor();
    await close(page);
});
