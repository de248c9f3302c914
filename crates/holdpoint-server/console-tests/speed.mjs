// Measures what the console promises to be quick at, and prints it. Nothing here fails: numbers depend on the machine.

import { gzipSync } from "node:zlib";
import { readFileSync, readdirSync } from "node:fs";
import { launch, open } from "./browser.mjs";
import { LONG_TURNS, Stage } from "./stage.mjs";

const WAITING = 1_000;
const TIMES = 5;

const middle = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
const say = (what, value, bound) => console.log(`${what.padEnd(62)} ${String(value).padStart(10)}   (wanted: ${bound})`);

const folder = new URL("../console/", import.meta.url);
const packed = readdirSync(folder).reduce((sum, name) => sum + gzipSync(readFileSync(new URL(name, folder)), { level: 9 }).length, 0);
say("all assets, compressed", `${(packed / 1024).toFixed(1)} KB`, "under 150 KB");

const stage = await Stage.open();
const browser = await launch();
try {
    const many = async (count) => {
        for (let index = 0; index < count; index += 20) await Promise.all(Array.from({ length: Math.min(20, count - index) }, () => stage.run("support")));
    };
    await many(WAITING);
    const page = await open(browser, stage);
    // The page notes when something is shown only where somebody measures.
    await page.addInitScript(() => { window.holdpointMeasured = true; });
    const firsts = [];
    for (let time = 0; time < TIMES; time++) {
        await page.goto("about:blank");
        const complaints = page.complaints.length;
        await page.goto(`${stage.url}/#/inbox`);
        await page.locator(".row-link").first().waitFor();
        page.complaints.length = complaints;
        firsts.push(await page.evaluate(() => window.performance.getEntriesByName("inbox-shown")[0]?.startTime ?? Number.NaN));
    }
    say(`first screen of the inbox, 50 of ${WAITING} waiting (median of ${TIMES})`, `${Math.round(middle(firsts))} ms`, "under 300 ms");

    // A new question: from the moment at which the server says that it is durable until it is in the page.
    await stage.ask("boss", "/v1/runs?limit=1");
    const news = [];
    for (let time = 0; time < TIMES; time++) {
        const run = await stage.run("quick");
        const id = `${run.batch_id}.c0`;
        await page.waitForFunction((wanted) => window.performance.getEntriesByName(`question ${wanted}`).length > 0, id);
        const seen = await page.evaluate((wanted) => performance.timeOrigin + performance.getEntriesByName(`question ${wanted}`)[0].startTime, id);
        const { approvals } = await stage.ask("ana", `/v1/approvals?run=${run.id}`);
        const asked = approvals[0] ?? (await stage.ask("ana", `/v1/approvals?run=${run.id}&status=expired`)).approvals[0];
        news.push(seen - Date.parse(asked.created_at));
    }
    say(`a new question is in the page (median of ${TIMES})`, `${Math.round(middle(news))} ms`, "under 200 ms");

    const run = await stage.run("long", "look at all of them");
    const rendered = [];
    for (let time = 0; time < TIMES; time++) {
        await page.goto("about:blank");
        await page.goto(`${stage.url}/#/runs/${run.id}`);
        await page.waitForFunction(() => window.performance.getEntriesByName("timeline-shown").length > 0);
        rendered.push(await page.evaluate(() => {
            const [first] = performance.getEntriesByName("timeline-asked");
            const shown = performance.getEntriesByName("timeline-shown").at(-1);
            const at = (name) => performance.getEntriesByName(name).map((one) => one.startTime);
            const work = () => at("timeline-drawn").reduce((sum, end, index) => sum + end - at("timeline-begun")[index], 0);
            return [shown.startTime - first.startTime, work()];
        }));
    }
    say(`timeline of ${LONG_TURNS} turns: asked for until all is shown`, `${Math.round(middle(rendered.map((one) => one[0])))} ms`, "under 500 ms");
    say("  of which the page's own work", `${Math.round(middle(rendered.map((one) => one[1])))} ms`, "");
    const frames = await page.evaluate(async () => {
        const box = document.querySelector(".virtual");
        const gaps = [];
        let last = performance.now();
        for (let step = 0; step < 120; step++) {
            box.scrollTop += 600;
            await new Promise((resolve) => requestAnimationFrame(resolve));
            const now = performance.now();
            gaps.push(now - last);
            last = now;
        }
        return gaps.toSorted((a, b) => a - b);
    });
    say("scrolling it: 95th percentile between frames", `${frames[Math.floor(frames.length * 0.95)].toFixed(1)} ms`, "about 17 ms");
    await page.context().close();
} finally {
    await browser.close();
    await stage.close();
}
