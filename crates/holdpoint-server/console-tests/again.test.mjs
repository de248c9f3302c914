// One call may be asked about several times under one id: an answer to one question must never be taken for another.

import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { choose, close, launch, open } from "./browser.mjs";
import { Stage, Wire } from "./stage.mjs";

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
    rmSync(join(stage.folder, "lifted"), { force: true });
});

/** Somebody approves outside the page. */
function approve(run, person = "ben") {
    const [question] = run.pending;
    return stage.ask(person, `/v1/runs/${run.id}/answers`, { batch_id: run.batch_id, partial: true, decisions: [{ call_id: question.id, decision: "allow", digest: question.digest }] });
}

const started = ({ events }) => events.some((event) => event.event === "tool_started");

const inDoubt = ({ pending }) => pending.some((one) => one.uncertain);

/** Lets a call start, and the server die before it has a result. */
async function crash(run) {
    await stage.until(run.id, started, "/events");
    await stage.stop("SIGKILL");
}

/** What a page sends as answers. */
function answersOf(page) {
    const sent = [];
    page.on("request", (request) => request.url().endsWith("/answers") && sent.push(request.postDataJSON()));
    return sent;
}

test("a page that missed that the call was started does not approve it a second time", async () => {
    const run = await stage.run("crane");
    const wire = await Wire.open(stage);
    const page = await open(browser, wire);
    await choose(page, "lift");
    const sent = answersOf(page);
    // Nothing reaches the page until the call is in doubt.
    wire.cut();
    await page.getByText("Not connected.").waitFor();
    await approve(run);
    await crash(run);
    await stage.start();
    await stage.until(run.id, inDoubt);
    wire.mend();
    await page.getByText("The call was started meanwhile, and nobody knows whether it took effect.").waitFor();
    await page.getByRole("button", { name: "It did not happen: run it" }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Approve", exact: true }).count(), 0);
    assert.deepEqual(sent, []);
    await close(page);
    wire.close();
});

test("a look just before sending sees that the question is another one", async () => {
    const run = await stage.run("crane");
    const page = await open(browser, stage);
    // This page hears nothing: only the look before it sends can tell.
    await page.route("**/v1/approvals/events", (route) => route.abort());
    await page.reload();
    await choose(page, "lift");
    const sent = answersOf(page);
    await approve(run);
    await crash(run);
    await stage.start();
    await stage.until(run.id, inDoubt);
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByText("What would run now is shown below. Nothing was sent.").waitFor();
    await page.getByText("Nobody knows whether this took effect").waitFor();
    assert.deepEqual(sent, []);
    await close(page);
});

test("a question that was answered and comes back as a doubt is shown again, and run on a person's word", async () => {
    const run = await stage.run("crane");
    const page = await open(browser, stage);
    await choose(page, "lift");
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByText("You approved.").first().waitFor();
    await crash(run);
    await page.getByText("Not connected.").waitFor();
    await stage.start();
    await stage.until(run.id, inDoubt);
    await page.getByText("It may have taken effect, or not.").waitFor();
    const sent = answersOf(page);
    await page.getByRole("button", { name: "It did not happen: run it" }).click();
    await page.getByText("You said that it did not happen, so that it runs.").waitFor();
    assert.match(sent[0].decisions[0].digest, /^[0-9a-f]{64}$/, "the question is named, not only the turn");
    await stage.until(run.id, ({ status }) => status === "finished");
    assert.match(JSON.stringify(await stage.ask("ana", `/v1/runs/${run.id}/messages`)), /lifted/);
    await close(page);
});

test("a call in doubt is given up", async () => {
    const run = await stage.run("crane");
    await approve(run);
    await crash(run);
    await stage.start();
    await stage.until(run.id, inDoubt);
    const page = await open(browser, stage);
    await choose(page, "lift");
    await page.getByRole("button", { name: "Give it up…" }).click();
    await page.getByLabel("Reason").fill("the ship has left");
    await page.getByRole("button", { name: "Give it up", exact: true }).click();
    await page.getByText("You gave it up.").waitFor();
    await stage.until(run.id, ({ status }) => status === "finished");
    assert.match(JSON.stringify(await stage.ask("ana", `/v1/runs/${run.id}/messages`)), /the ship has left/);
    await close(page);
});

test("a question that is asked again because its tool has changed can be approved", async () => {
    const run = await stage.run("support");
    const page = await open(browser, stage);
    await choose(page, "refund");
    await stage.stop();
    // A server that is back before it is missed is no alarm.
    await page.getByText("Not connected.").waitFor();
    stage.configure((text) => text.replace("maximum = 5000", "maximum = 6000"));
    try {
        await stage.start();
        await page.getByText("Connected again.").waitFor();
        await page.getByRole("button", { name: "Approve", exact: true }).click();
        await page.getByText("It is asked once more: the tool has changed.").waitFor();
        await page.getByText("It was asked before. The tool, its arguments or the rule has changed since.").waitFor();
        await page.getByRole("button", { name: "Approve", exact: true }).click();
        await page.locator(".notice.done", { hasText: "You approved." }).waitFor();
        await stage.until(run.id, ({ status }) => status === "finished");
        assert.match(JSON.stringify(await stage.ask("ana", `/v1/runs/${run.id}/messages`)), /paid 180 back/);
        await close(page);
    } finally {
        await stage.stop();
        stage.configure();
        await stage.start();
    }
});

test("what a tool asks is answered with fields, round by round, and an address is never a link", async () => {
    const run = await stage.run("bank");
    const page = await open(browser, stage);
    await choose(page, "desk__open_account");
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByText("Whose account is it?").first().waitFor();
    await page.getByRole("button", { name: "Answer…" }).click();
    assert.equal(await page.getByLabel("Limit").inputValue(), "500", "what the tool proposes is there");
    await page.getByText('"owner" is missing').waitFor();
    const submit = page.getByRole("button", { name: "Send the answer" });
    assert.ok(await submit.isDisabled());
    await page.getByLabel("Owner").fill("Ana");
    await page.getByLabel("Limit").fill("12345678901234567");
    await page.getByLabel("Kind (optional)").selectOption("savings");
    await submit.click();
    // The next round has the same id and the same digest.
    await page.getByText("Is the number right?").first().waitFor();
    await page.getByRole("button", { name: "Answer…" }).click();
    await page.getByLabel("Right").selectOption("yes");
    await page.getByRole("button", { name: "Send the answer" }).click();
    await page.getByText("You answered what the tool asked.").waitFor();
    await stage.until(run.id, ({ pending }) => pending.some((one) => one.tool === "desk__sign_contract"));
    const { messages } = await stage.ask("ana", `/v1/runs/${run.id}/messages`);
    assert.match(JSON.stringify(messages), /savings/);
    await page.goto(`${stage.url}/#/inbox`);
    await choose(page, "desk__sign_contract");
    await page.getByText("It wants you to go to sign.example.com").waitFor();
    assert.equal(await page.locator('a[href*="sign.example.com"]').count(), 0);
    await page.getByRole("button", { name: "It happened…" }).waitFor();
    await page.getByRole("button", { name: "I have done that: go on" }).click();
    await page.getByText("You let it go on.").waitFor();
    await stage.until(run.id, ({ status }) => status === "finished");
    await close(page);
});

test("several calls of one turn are in doubt, while another is still with a worker", async () => {
    const run = await stage.run("fleet");
    const { tasks } = await stage.ask("robot", "/v1/tasks/lease", { max: 3, lease_ms: 60_000, wait_ms: 5_000 });
    const lost = tasks.filter((task) => task.arguments.truck !== "T-3");
    for (const task of lost) await stage.ask("robot", `/v1/tasks/${encodeURIComponent(task.id)}/fail`, { lease: task.lease, started: true });
    const page = await open(browser, stage, { person: "boss" });
    for (const truck of ["T-1", "T-2"]) {
        await page.goto(`${stage.url}/#/inbox`);
        await page.locator(".row-link", { hasText: truck }).click();
        await page.locator(".q-args", { hasText: truck }).waitFor();
        await page.getByRole("button", { name: "It happened…" }).click();
        await page.getByLabel("Result", { exact: true }).fill(`booked ${truck}`);
        await page.getByRole("button", { name: "It happened, with this result" }).click();
        await page.getByText("You said that it happened.").waitFor();
    }
    const [last] = tasks.filter((task) => task.arguments.truck === "T-3");
    await stage.ask("robot", `/v1/tasks/${encodeURIComponent(last.id)}/complete`, { lease: last.lease, text: "booked T-3" });
    await stage.until(run.id, ({ status }) => status === "finished");
    assert.match(JSON.stringify(await stage.ask("boss", `/v1/runs/${run.id}/messages`)), /booked T-1.*booked T-2.*booked T-3/);
    await close(page);
});
