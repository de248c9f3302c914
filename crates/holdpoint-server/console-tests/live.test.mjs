// Pages that change while somebody looks at them.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { close, launch, open } from "./browser.mjs";
import { Stage } from "./stage.mjs";

/** A model that says one word again and again, and the rest when it is told to. Who comes late does not hear what was said before. */
class Slow {
    static async open() {
        const model = new Slow();
        model.server = createServer((request, response) => {
            request.resume();
            response.writeHead(200, { "content-type": "text/event-stream" });
            const say = (delta, more = {}) => response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, ...more }] })}\n\n`);
            const again = setInterval(() => say({ content: "er " }), 50);
            response.on("close", () => clearInterval(again));
            model.end = () => {
                clearInterval(again);
                say({ content: "and the rest." }, { finish_reason: "stop" });
                response.end("data: [DONE]\n\n");
            };
        });
        await new Promise((resolve) => model.server.listen(0, "127.0.0.1", resolve));
        model.url = `http://127.0.0.1:${model.server.address().port}/v1`;
        return model;
    }
}

let stage;
let browser;
let model;
before(async () => {
    model = await Slow.open();
    stage = await Stage.open({ edit: (text) => `${text}
[agents.poet]
description = "Speaks slowly."
model = "openai:slow"
base_url = "${model.url}"
api_key_env = "TOKEN_ANA"
` });
    browser = await launch();
});
after(async () => {
    await browser?.close();
    await stage?.close();
    model?.server.close();
    model?.server.closeAllConnections();
});

async function approve(run) {
    const [question] = run.pending;
    await stage.ask("ben", `/v1/runs/${run.id}/answers`, { batch_id: run.batch_id, partial: true, decisions: [{ call_id: question.id, decision: "allow", digest: question.digest }] });
}

test("what the model says is seen while it says it", async () => {
    const run = await stage.ask("ana", "/v1/runs", { agent: "poet", input: "a poem" });
    const page = await open(browser, stage, { path: `#/runs/${run.id}` });
    await page.locator(".live", { hasText: "Model is writing: er er" }).waitFor();
    model.end();
    await page.locator(".event.said", { hasText: "er er" }).waitFor();
    await page.locator(".live").waitFor({ state: "hidden" });
    await page.locator(".status.finished").waitFor();
    await close(page);
});

test("the stream of a run that is over ends without an alarm", async () => {
    const run = await stage.run("support");
    await approve(run);
    await stage.until(run.id, ({ status }) => status === "finished");
    const page = await open(browser, stage, { path: "#/runs" });
    await page.evaluate(() => {
        const seen = /** @type {any} */ (window);
        seen.alarms = 0;
        const look = () => (seen.alarms += document.documentElement.dataset.connection === "lost" ? 1 : 0);
        new MutationObserver(look).observe(document.documentElement, { attributeFilter: ["data-connection"] });
    });
    const over = page.waitForResponse((answer) => answer.url().includes(`${run.id}/events`) && answer.status() === 204);
    await page.evaluate((id) => (location.hash = `#/runs/${id}`), run.id);
    await over;
    await page.locator(".status.finished").waitFor();
    assert.equal(await page.evaluate(() => /** @type {any} */ (window).alarms), 0);
    await close(page);
});

test("who reads a row of a run that goes on is not disturbed", async () => {
    const run = await stage.run("support");
    const page = await open(browser, stage, { path: `#/runs/${run.id}` });
    await page.locator(".event.call", { hasText: "find_order" }).click();
    const raw = page.locator(".detail summary", { hasText: "tool_ended" });
    await raw.click();
    await page.locator(".detail .code", { hasText: "succeeded" }).waitFor();
    await approve(run);
    await page.locator(".event", { hasText: "Finished" }).waitFor();
    assert.ok(await page.locator(".detail .code", { hasText: "succeeded" }).isVisible(), "what was opened stays open");
    assert.match(await page.evaluate(() => document.activeElement?.textContent ?? ""), /tool_ended/, "and keeps the focus");
    await close(page);
});

test("a row that is read shows what happens to it", async () => {
    const run = await stage.run("support");
    const page = await open(browser, stage, { path: `#/runs/${run.id}` });
    await page.locator(".event.call", { hasText: "refund" }).click();
    await page.locator(".detail h2", { hasText: "waits for a person" }).waitFor();
    await approve(run);
    await page.locator(".detail h2", { hasText: "done" }).waitFor();
    await page.locator(".detail").getByText("paid 180 back for A-42").waitFor();
    await close(page);
});

test("on a phone one goes back to the timeline of a run that goes on, and stays there", async () => {
    const run = await stage.run("support");
    const page = await open(browser, stage, { path: `#/runs/${run.id}`, size: { width: 390, height: 844 } });
    await page.locator(".event.call", { hasText: "find_order" }).click();
    await page.getByRole("button", { name: "← Timeline" }).click();
    await approve(run);
    await page.locator(".event", { hasText: "Finished" }).waitFor();
    assert.ok(await page.locator(".run-split > .list").isVisible());
    await close(page);
});

test("a list that reads itself again keeps the focus, and j and k go through it", async () => {
    const first = await stage.run("support");
    const page = await open(browser, stage, { path: "#/runs" });
    await page.locator(`tbody a[title="${first.id}"]`).waitFor();
    await page.keyboard.press("j");
    await page.locator(`tr[data-key="${first.id}"]:focus`).waitFor();
    const second = await stage.run("support");
    await page.locator(`tbody a[title="${second.id}"]`).waitFor();
    await page.locator(`tr[data-key="${first.id}"]:focus`).waitFor();
    await page.keyboard.press("k");
    await page.locator(`tr[data-key="${second.id}"]:focus`).waitFor();
    await page.keyboard.press("Enter");
    await page.locator(".event.call", { hasText: "refund" }).waitFor();
    assert.ok(page.url().includes(encodeURIComponent(second.id)));
    await close(page);
});

test("a filter that is changed while the list is read counts", async () => {
    const run = await stage.run("support");
    const page = await open(browser, stage, { path: "#/runs" });
    await page.locator(`tbody a[title="${run.id}"]`).waitFor();
    let release;
    const held = new Promise((resolve) => { release = resolve; });
    await page.route(/\/v1\/runs\?limit=50&status=awaiting_tool_confirmation$/, async (route) => {
        await held;
        await route.continue().catch(() => null);
    });
    const asked = page.waitForRequest(/status=awaiting_tool_confirmation$/);
    await page.getByLabel("State").selectOption("awaiting_tool_confirmation");
    await asked;
    await page.getByLabel("State").selectOption("cancelled");
    await page.getByText("No run fits.").waitFor();
    const late = page.waitForResponse(/status=awaiting_tool_confirmation$/);
    release();
    await late;
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    assert.equal(await page.locator(".list-table tbody tr").count(), 0, "an answer to what was asked before is not shown");
    await close(page);
});

test("the trace's id can be copied", async () => {
    const run = await stage.run("support");
    const page = await open(browser, stage, { options: { permissions: ["clipboard-read", "clipboard-write"] } });
    const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    await page.route(`**/v1/runs/${run.id}`, async (route) => {
        const answer = await route.fetch();
        await route.fulfill({ response: answer, json: { ...(await answer.json()), trace_id: trace } });
    });
    await page.goto(`${stage.url}/#/runs/${run.id}`);
    await page.getByRole("button", { name: "Copy" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), trace);
    await close(page);
});
