// Pictures of every page, in both themes and at the size of a phone, for the guide and for those who look at them.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { choose, launch, open } from "./browser.mjs";
import { Stage } from "./stage.mjs";

const folder = process.argv[2];
if (!folder) throw new Error("usage: node pictures.mjs FOLDER");
mkdirSync(folder, { recursive: true });

const DESK = { width: 1200, height: 760 };
const PHONE = { width: 390, height: 780 };
const stage = await Stage.open();
const browser = await launch();
try {
    const finished = await stage.run("support");
    await stage.ask("ben", `/v1/runs/${finished.id}/answers?wait_ms=5000`, { continuation_id: finished.continuation_id, decisions: [{ call_id: "pay", decision: "allow", digest: finished.pending[0].digest, remember: true }] });
    const waits = await stage.run("support");
    for (const agent of ["treasury", "mailer", "archive", "broken"]) await stage.run(agent);
    await stage.run("shipping");
    const { tasks: [task] } = await stage.ask("robot", "/v1/tasks/lease", { max: 1, lease_ms: 60_000, wait_ms: 5_000 });
    await stage.ask("robot", `/v1/tasks/${encodeURIComponent(task.id)}/fail`, { lease: task.lease, started: true });
    const signature = (await stage.ask("ana", "/v1/approvals")).approvals.find((one) => one.tool === "transfer");
    await stage.ask("ben", `/v1/runs/${signature.run_id}/answers`, { batch_id: signature.batch_id, partial: true, decisions: [{ call_id: signature.call_id, decision: "allow", digest: signature.digest }] });

    const question = (tool) => async (page) => {
        await page.goto(`${stage.url}/#/inbox`);
        await choose(page, tool);
        await page.locator(".talk").waitFor();
    };
    const at = (path, shows) => async (page) => {
        await page.goto(`${stage.url}/${path}`);
        await page.locator(shows).first().waitFor({ state: "attached" });
    };
    const pages = {
        inbox: question("refund"),
        edit: async (page) => {
            await question("refund")(page);
            await page.keyboard.press("e");
            await page.getByLabel("Arguments as JSON").fill('{\n  "amount": 9000,\n  "note": "kettle arrived broken",\n  "order": "A-42"\n}');
            await page.getByText("must be at most").waitFor();
        },
        hostile: question("send_mail"),
        doubt: question("book_shipment"),
        quorum: question("transfer"),
        runs: at("#/runs", "tbody tr"),
        run: async (page, phone) => {
            await at(`#/runs/${finished.id}`, ".event.end")(page);
            if (!phone) await page.locator(".event.call", { hasText: "refund" }).click();
        },
        start: at("#/start", ".page option:nth-child(2)"),
        agents: at("#/agents", ".card"),
        policy: async (page) => {
            await at("#/policy/support", ".page option:nth-child(2)")(page);
            await page.getByLabel("Tool").selectOption("refund");
            await page.getByLabel("Arguments as JSON").fill('{"order": "A-42", "amount": 20}');
            await page.getByRole("button", { name: "Explain" }).click();
            await page.locator(".verdict").waitFor();
        },
        grants: at("#/grants", "tbody tr"),
        queue: at("#/queue", "tbody tr"),
        audit: async (page) => {
            await at("#/audit", "tbody tr")(page);
            await page.getByRole("button", { name: "Verify the whole log" }).click();
            await page.locator(".verdict").waitFor();
        },
    };
    for (const theme of ["light", "dark"]) {
        for (const [suffix, size] of [["", DESK], ["-phone", PHONE]]) {
            const page = await open(browser, stage, { person: "boss", theme, size });
            for (const [name, show] of Object.entries(pages)) {
                await show(page, Boolean(suffix));
                await page.evaluate(() => document.fonts.ready);
                await page.screenshot({ path: join(folder, `${name}-${theme}${suffix}.png`) });
            }
            await page.context().close();
            const stranger = await open(browser, stage, { person: null, theme, size });
            await stranger.getByLabel("Token").waitFor();
            await stranger.screenshot({ path: join(folder, `sign-in-${theme}${suffix}.png`) });
            await stranger.context().close();
        }
    }
    await stage.ask("boss", `/v1/runs/${waits.id}/cancel`, undefined, "POST");
} finally {
    await browser.close();
    await stage.close();
}
