// What people do with the console, in a real browser against the real server.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { choose, close, launch, open } from "./browser.mjs";
import { PEOPLE, Stage } from "./stage.mjs";

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

const status = async (id) => (await stage.ask("ana", `/v1/runs/${id}`)).status;
const idOf = (page) => decodeURIComponent(new URL(page.url()).hash.split("/")[2] ?? "");

/** Cancels what others left, so that each test has its own inbox. */
async function clear() {
    for (const { id } of (await stage.ask("boss", "/v1/runs?limit=200")).runs) await stage.ask("boss", `/v1/runs/${id}/cancel`, undefined, "POST").catch(() => null);
}

test("a run is started, its call approved, and its result seen", async () => {
    await clear();
    const page = await open(browser, stage);
    await page.getByRole("link", { name: "Start a run" }).click();
    await page.getByLabel("Agent").selectOption("support");
    await page.getByLabel("Input").fill("My kettle from order A-42 arrived broken.");
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByText("waits for a person").first().waitFor();
    const run = idOf(page);
    await page.locator(".notice").getByRole("link", { name: "refund" }).click();
    await page.getByRole("heading", { name: "refund" }).waitFor();
    for (const text of ["support wants to run", "a refund above 100 needs somebody from finance", "kettle arrived broken", "It cannot be undone", "My kettle from order A-42 arrived broken.", "people with the role finance"]) {
        await page.getByText(text).first().waitFor();
    }
    await page.locator(".q-until .left", { hasText: /3 h 59 min left/ }).waitFor();
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByText("You approved.").waitFor();
    await page.getByRole("link", { name: "Watch the run" }).click();
    await page.locator(".status.finished").waitFor();
    await page.getByText("I have looked into order A-42 and told you what happened.").first().waitFor();
    await page.locator(".event", { hasText: "ana approved" }).waitFor();
    await page.locator(".event.call", { hasText: "refund" }).click();
    await page.getByText("paid 180 back for A-42").waitFor();
    assert.equal(await status(run), "finished");
    await close(page);
});

test("a new question appears by itself, and one that is answered elsewhere goes", async () => {
    await clear();
    const page = await open(browser, stage);
    await page.getByText("Nothing waits for ana.").waitFor();
    const run = await stage.run("support");
    await page.locator(".row-link", { hasText: "refund" }).waitFor();
    assert.match(await page.title(), /^\(1\)/);
    const [question] = run.pending;
    await stage.ask("ben", `/v1/runs/${run.id}/answers`, { continuation_id: run.continuation_id, decisions: [{ call_id: question.id, decision: "allow", digest: question.digest }] });
    await page.getByText("Nothing waits for ana.").waitFor();
    await close(page);
});

test("of two approvers who race one sees that the other was faster, and sends nothing", async () => {
    await clear();
    const run = await stage.run("support");
    const [first, second] = [await open(browser, stage, { person: "ana" }), await open(browser, stage, { person: "ben" })];
    await choose(first, "refund");
    // The second page hears nothing of what happens: it must find out by itself before it sends.
    await second.route("**/v1/approvals/events", (route) => route.abort());
    await second.reload();
    await choose(second, "refund");
    const sent = [];
    second.on("request", (request) => request.url().endsWith("/answers") && sent.push(request.url()));
    await first.getByRole("button", { name: "Approve", exact: true }).click();
    await first.getByText("You approved.").waitFor();
    await second.getByRole("button", { name: "Approve", exact: true }).click();
    await second.getByText("ana was faster.").waitFor();
    await second.getByText("Nothing was sent.").waitFor();
    assert.deepEqual(sent, []);
    assert.equal((await stage.ask("ana", `/v1/runs/${run.id}`)).tool_executions, 2);
    await close(first);
    await close(second);
});

test("two answers at the very same moment: one counts, the other is told", async () => {
    await clear();
    const run = await stage.run("support");
    const pages = [await open(browser, stage, { person: "ana" }), await open(browser, stage, { person: "ben" })];
    for (const page of pages) await choose(page, "refund");
    // Both looks come before both answers.
    let waiting = 0;
    let release;
    const both = new Promise((resolve) => { release = resolve; });
    for (const page of pages) {
        await page.route("**/answers", async (route) => {
            waiting += 1;
            if (waiting === 2) release();
            await both;
            await route.continue();
        });
    }
    await pages[1].keyboard.press("d");
    await pages[1].getByLabel("Reason").fill("not today");
    await Promise.all([pages[0].getByRole("button", { name: "Approve", exact: true }).click(), pages[1].getByRole("button", { name: "Refuse", exact: true }).click()]);
    const said = await Promise.all(pages.map(async (page) => {
        await page.locator(".notice.done, .notice.changed").waitFor();
        return page.locator(".notice-place").innerText();
    }));
    const winners = said.filter((text) => /^You (approved|refused)\./.test(text));
    const losers = said.filter((text) => /was faster|went on meanwhile|Answered meanwhile/.test(text));
    assert.deepEqual([winners.length, losers.length], [1, 1], said.join(" | "));
    assert.equal(await status(run.id), "finished");
    for (const page of pages) await close(page);
});

test("a call that is answered while it is open says so", async () => {
    await clear();
    const run = await stage.run("support");
    const page = await open(browser, stage);
    await choose(page, "refund");
    const [question] = run.pending;
    await stage.ask("ben", `/v1/runs/${run.id}/answers`, { continuation_id: run.continuation_id, decisions: [{ call_id: question.id, decision: "deny", reason: "paid already" }] });
    await page.getByText("Answered meanwhile.").waitFor();
    await page.getByText("You sent nothing.").first().waitFor();
    await page.getByText("paid already").first().waitFor();
    assert.equal(await page.getByRole("button", { name: "Approve", exact: true }).count(), 0);
    await close(page);
});

test("the conversation of a question that is over ends where it was asked", async () => {
    await clear();
    await stage.run("support");
    const page = await open(browser, stage);
    await choose(page, "refund");
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByText("You approved.").first().waitFor();
    await page.reload();
    await page.getByText("This question is answered").waitFor();
    await page.locator(".talk .call", { hasText: "refund" }).waitFor();
    assert.equal(await page.getByText("I have looked into order A-42").count(), 0);
    await close(page);
});

test("a refusal carries its reason to the model", async () => {
    await clear();
    const run = await stage.run("support");
    const page = await open(browser, stage);
    await choose(page, "refund");
    await page.getByRole("button", { name: "Refuse…" }).click();
    await page.getByLabel("Reason").fill("the customer was already paid");
    await page.getByRole("button", { name: "Refuse", exact: true }).click();
    await page.getByText("You refused.").waitFor();
    const { messages } = await stage.ask("ana", `/v1/runs/${run.id}/messages`);
    assert.match(JSON.stringify(messages), /the customer was already paid/);
    await close(page);
});

test("edited arguments are checked while typing, shown as changes, and run as written", async () => {
    await clear();
    const run = await stage.run("support");
    const page = await open(browser, stage);
    await choose(page, "refund");
    await page.getByRole("button", { name: "Edit arguments…" }).click();
    const text = page.getByLabel("Arguments as JSON");
    const submit = page.getByRole("button", { name: "Approve with these arguments" });
    await page.getByText("Nothing is changed yet.").waitFor();
    assert.ok(await submit.isDisabled());
    await text.fill('{"order": "A-42", "amount": 9000}');
    await page.getByText("/amount: must be at most 5000").waitFor();
    assert.ok(await submit.isDisabled());
    await text.fill('{"order": "A-42", "amount": 1');
    await page.getByText(/line 1, column 30: a comma or } is missing/).waitFor();
    await text.fill('{"order": "A-42", "amount": 150}');
    await page.locator(".differs", { hasText: "/amount from 180 to 150" }).waitFor();
    await submit.click();
    await page.getByText("You approved with other arguments.").waitFor();
    const { messages } = await stage.ask("ana", `/v1/runs/${run.id}/messages`);
    assert.match(JSON.stringify(messages), /paid 150 back for A-42/);
    await close(page);
});

test("what the server refuses is shown, and nothing is lost", async () => {
    await clear();
    await stage.run("support");
    const page = await open(browser, stage);
    await choose(page, "refund");
    // A page that knows no schema leaves the judgement to the server.
    await page.route("**/v1/tools", (route) => route.fulfill({ json: { tools: [] } }));
    await page.reload();
    await page.locator(".q-tool", { hasText: "refund" }).waitFor();
    await page.getByRole("button", { name: "Edit arguments…" }).click();
    await page.getByLabel("Arguments as JSON").fill('{"order": "A-42", "amount": 9000}');
    await page.getByRole("button", { name: "Approve with these arguments" }).click();
    await page.getByText("It was not accepted, and nothing changed.").waitFor();
    await page.getByText("(invalid_arguments)").waitFor();
    assert.equal(await page.getByLabel("Arguments as JSON").inputValue(), '{"order": "A-42", "amount": 9000}');
    await close(page);
});

test("an answer in the tool's place is taken, and the tool does not run", async () => {
    await clear();
    const run = await stage.run("support");
    const page = await open(browser, stage);
    await choose(page, "refund");
    await page.getByRole("button", { name: "Answer in its place…" }).click();
    await page.getByLabel("Kind").selectOption("json");
    await page.getByLabel("Result", { exact: true }).fill('{"paid": 12345678901234567890}');
    await page.getByRole("button", { name: "Use this instead of the tool" }).click();
    await page.getByText("You answered in the tool's place.").waitFor();
    assert.equal((await stage.ask("ana", `/v1/runs/${run.id}`)).tool_executions, 1);
    await close(page);
});

test("an approval that is remembered answers the next question, and can be taken back", async () => {
    await clear();
    await stage.run("support");
    const page = await open(browser, stage);
    await choose(page, "refund");
    await page.getByRole("button", { name: "Approve and remember…" }).click();
    await page.getByLabel("Where").selectOption("tenant");
    await page.getByRole("button", { name: "Approve and remember", exact: true }).click();
    await page.getByText("You approved, and it is remembered.").waitFor();
    assert.equal((await stage.run("support")).status, "finished");
    await page.getByRole("link", { name: "Grants" }).click();
    await page.getByRole("button", { name: "Take back the grant for refund" }).click();
    await page.getByText("taken back by ana").waitFor();
    assert.equal((await stage.run("support")).status, "awaiting_tool_confirmation");
    await close(page);
});

test("two signatures: the first says that it waits for one more", async () => {
    await clear();
    const run = await stage.run("treasury");
    const [ana, ben] = [await open(browser, stage, { person: "ana" }), await open(browser, stage, { person: "ben" })];
    await choose(ana, "transfer");
    await choose(ben, "transfer");
    await ana.getByText("0 of 2").first().waitFor();
    await ana.getByRole("button", { name: "Approve", exact: true }).click();
    await ana.getByText("You approved. It waits for 1 more.").waitFor();
    await ben.locator(".quorum", { hasText: "1 of 2: ana" }).waitFor();
    await ben.getByRole("button", { name: "Approve", exact: true }).click();
    await ben.getByText("You approved.").waitFor();
    await ana.getByText(/Answered meanwhile|approved/).first().waitFor();
    assert.equal(await status(run.id), "finished");
    await close(ana);
    await close(ben);
});

test("a call in doubt explains itself and takes the result that a person knows", async () => {
    await clear();
    const run = await stage.run("shipping");
    const { tasks: [task] } = await stage.ask("robot", "/v1/tasks/lease", { max: 1, lease_ms: 60_000, wait_ms: 5_000 });
    await stage.ask("robot", `/v1/tasks/${encodeURIComponent(task.id)}/fail`, { lease: task.lease, started: true });
    const page = await open(browser, stage, { person: "boss" });
    await choose(page, "book_shipment");
    for (const text of ["Nobody knows whether this took effect", "The worker that had it said that it failed after it had started.", "worker robot, attempt 1", task.idempotency_key]) await page.getByText(text).first().waitFor();
    for (const name of ["It did not happen: run it", "It happened…", "Give it up…"]) await page.getByRole("button", { name }).waitFor();
    await page.getByRole("button", { name: "It happened…" }).click();
    await page.getByLabel("Result", { exact: true }).fill("booked as 4711");
    await page.getByRole("button", { name: "It happened, with this result" }).click();
    await page.getByText("You said that it happened.").waitFor();
    assert.match(JSON.stringify(await stage.ask("ana", `/v1/runs/${run.id}/messages`)), /booked as 4711/);
    await close(page);
});

test("a dead letter goes back to the queue and is done by the next worker", async () => {
    await clear();
    const run = await stage.run("shipping");
    const take = async () => (await stage.ask("robot", "/v1/tasks/lease", { max: 1, lease_ms: 60_000, wait_ms: 5_000 })).tasks[0];
    const lost = await take();
    await stage.ask("robot", `/v1/tasks/${encodeURIComponent(lost.id)}/fail`, { lease: lost.lease, started: true });
    const page = await open(browser, stage, { person: "boss", path: "#/queue" });
    page.on("dialog", (dialog) => dialog.accept());
    await page.getByRole("heading", { name: "Dead letters" }).waitFor();
    await page.getByRole("button", { name: "Requeue book_shipment" }).click();
    await page.getByText("It is back in the queue.").waitFor();
    const again = await take();
    await stage.ask("robot", `/v1/tasks/${encodeURIComponent(again.id)}/complete`, { lease: again.lease, text: "booked" });
    await page.goto(`${stage.url}/#/runs/${run.id}`);
    await page.locator(".status.finished").waitFor();
    await close(page);
});

test("a question that expires while it is open says so", async () => {
    await clear();
    await stage.run("quick");
    const page = await open(browser, stage);
    await choose(page, "restart");
    await page.locator(".q-until .left.close").waitFor();
    await page.getByText("It expired meanwhile.").waitFor();
    await page.getByText("Nobody answered in time").first().waitFor();
    assert.equal(await page.getByRole("button", { name: "Approve", exact: true }).count(), 0);
    await close(page);
});

test("a server that restarts while the page is open: the page says so, comes back, and has missed nothing", async () => {
    await clear();
    await stage.run("support");
    const page = await open(browser, stage);
    await page.locator(".row-link", { hasText: "refund" }).waitFor();
    await stage.stop("SIGKILL");
    await page.getByText("Not connected.").waitFor();
    await page.getByText("What you see may be out of date.").waitFor();
    await choose(page, "refund");
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByText("The server was not reached.").waitFor();
    await stage.start();
    await stage.run("treasury");
    await page.getByText("Connected again.").waitFor();
    await page.locator(".row-link", { hasText: "transfer" }).waitFor();
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByText("You approved.").waitFor();
    await close(page);
});

test("a run that failed is tried again, and one that waits is cancelled", async () => {
    await clear();
    const failed = await stage.run("broken");
    const page = await open(browser, stage, { path: `#/runs/${failed.id}` });
    page.on("dialog", (dialog) => dialog.accept());
    await page.locator(".status.failed").waitFor();
    await page.getByRole("button", { name: "Try again" }).click();
    await page.locator(".event", { hasText: "Tried again" }).waitFor();
    const waits = await stage.run("support");
    await page.goto(`${stage.url}/#/runs/${waits.id}`);
    await page.getByRole("button", { name: "Cancel the run…" }).click();
    await page.locator(".status.cancelled").waitFor();
    assert.equal(await status(waits.id), "cancelled");
    await close(page);
});

test("runs are filtered, and each shows its conversation and raw events", async () => {
    await clear();
    const run = await stage.run("support");
    const page = await open(browser, stage, { path: "#/runs" });
    await page.getByLabel("State").selectOption("awaiting_tool_confirmation");
    await page.locator(`tbody a[title="${run.id}"]`).click();
    await page.getByRole("button", { name: "Conversation" }).click();
    await page.getByText("order A-42: 1 kettle, 180 EUR, delivered broken").waitFor();
    await page.getByRole("button", { name: "Timeline" }).click();
    await page.locator(".event.call", { hasText: "find_order" }).click();
    await page.getByText("Event 6: tool_ended").click();
    await page.getByText('"outcome": "succeeded"').waitFor();
    await close(page);
});

test("the policy explains a typed call, and the audit log is verified", async () => {
    await clear();
    const page = await open(browser, stage, { person: "boss", path: "#/policy/support" });
    await page.getByLabel("Tool").selectOption("refund");
    await page.getByLabel("Arguments as JSON").fill('{"order": "A-1", "amount": 250}');
    await page.getByRole("button", { name: "Explain" }).click();
    await page.getByRole("heading", { name: "A person would be asked" }).waitFor();
    await page.getByText("rule 2").first().waitFor();
    await page.getByLabel("Arguments as JSON").fill('{"order": "A-1", "amount": 20}');
    await page.getByRole("button", { name: "Explain" }).click();
    await page.getByRole("heading", { name: "It would run at once" }).waitFor();
    await page.getByText('wants {"gt":100}, saw 20').waitFor();
    await page.getByRole("link", { name: "Audit" }).click();
    await page.getByText("run started").first().waitFor();
    await page.getByRole("button", { name: "Verify the whole log" }).click();
    await page.getByRole("heading", { name: "Everything is as it was written" }).waitFor();
    await page.getByRole("link", { name: "Agents and tools" }).click();
    await page.getByRole("heading", { name: "treasury" }).waitFor();
    await close(page);
});

test("agents and tools show how long calls took", async () => {
    await clear();
    await stage.run("support");
    const page = await open(browser, stage, { person: "boss", path: "#/agents" });
    const numbers = page.locator("section", { hasText: "Answers customers, looks orders up" }).locator(".tool-row", { hasText: "find_order" }).locator(".numbers");
    await numbers.waitFor();
    assert.match(await numbers.innerText(), /^[\d,]+ calls, no error, \d.* each$/);
    await close(page);
});

test("everything in the inbox is done with the keyboard alone", async () => {
    await clear();
    const refund = await stage.run("support");
    const transfer = await stage.run("treasury");
    const page = await open(browser, stage);
    await page.locator(".row-link").nth(1).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("heading", { name: "Keyboard" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.locator(".q-tool", { hasText: "transfer" }).waitFor();
    await page.keyboard.press("j");
    await page.locator(".q-tool", { hasText: "refund" }).waitFor();
    await page.keyboard.press("a");
    await page.locator("button.primary:focus", { hasText: "Approve" }).waitFor();
    assert.equal(await status(refund.id), "awaiting_tool_confirmation", "one letter approves nothing");
    await page.keyboard.press("Enter");
    await page.getByText("You approved.").waitFor();
    await page.keyboard.press("k");
    await page.locator(".q-tool", { hasText: "transfer" }).waitFor();
    await page.keyboard.press("d");
    await page.keyboard.type("no");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByText("You refused.").waitFor();
    assert.deepEqual([await status(refund.id), await status(transfer.id)], ["finished", "finished"]);
    await page.keyboard.press("g");
    await page.keyboard.press("r");
    await page.getByRole("heading", { name: "Runs" }).waitFor();
    await close(page);
});

test("without a token nothing is shown, a wrong one is refused, and signing out ends the session", async () => {
    const page = await open(browser, stage, { person: null });
    await page.getByLabel("Token").fill("not a token at all");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("The server knows no such token.").waitFor();
    await page.getByLabel("Token").fill(PEOPLE.ana.secret);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("button", { name: "Sign out" }).waitFor();
    const [cookie] = await page.context().cookies();
    assert.deepEqual([cookie.httpOnly, cookie.sameSite], [true, "Strict"]);
    assert.equal(await page.evaluate(() => document.cookie), "");
    await page.reload();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    await close(page);
});

test("a token sees only what its roles allow, and is told why", async () => {
    await clear();
    await stage.run("support");
    const page = await open(browser, stage, { person: "desk", path: "#/start" });
    await page.getByRole("heading", { name: "Start a run" }).waitFor();
    assert.equal(await page.getByRole("link", { name: "Audit" }).count(), 0);
    await page.goto(`${stage.url}/#/audit`);
    await page.getByText("this needs the role `admin`").waitFor();
    await close(page);
});

test("other sites' pages and requests without proof change nothing", async () => {
    await clear();
    const run = await stage.run("support");
    const page = await open(browser, stage);
    const body = JSON.stringify({ continuation_id: run.continuation_id, decisions: [{ call_id: "pay", decision: "deny" }] });
    const codes = await page.evaluate(async ([path, text]) => {
        const send = async (headers) => (await (await fetch(path, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: text })).json()).code;
        return [await send({}), await send({ "x-csrf-token": "guessed" })];
    }, [`/v1/runs/${run.id}/answers`, body]);
    assert.deepEqual(codes, ["csrf_token_missing", "csrf_token_missing"]);
    // A page of another site, in the same browser: the cookie does not go along, and the page may not even read the answer.
    const other = await page.context().newPage();
    await other.route("http://evil.example/", (route) => route.fulfill({ contentType: "text/html", body: "<p>evil</p>" }));
    await other.goto("http://evil.example/");
    const stolen = await other.evaluate(async ([url, text]) => {
        try {
            const answer = await fetch(url, { method: "POST", credentials: "include", mode: "no-cors", headers: { "content-type": "text/plain" }, body: text });
            return answer.type;
        } catch {
            return "stopped";
        }
    }, [`${stage.url}/v1/runs/${run.id}/answers`, body]);
    assert.ok(["opaque", "stopped"].includes(stolen), stolen);
    const [cookie] = await page.context().cookies(stage.url);
    const forged = await fetch(`${stage.url}/v1/runs/${run.id}/answers`, { method: "POST", headers: { cookie: `${cookie.name}=${cookie.value}`, origin: "http://evil.example", "content-type": "application/json" }, body });
    assert.equal((await forged.json()).code, "origin_not_allowed");
    assert.equal(await status(run.id), "awaiting_tool_confirmation");
    await close(page);
});
