// A real browser: Debian's Chromium without a window, driven by playwright-core.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";
import { PEOPLE } from "./stage.mjs";

const packages = process.env.HOLDPOINT_TEST_CONSOLE;
if (!packages) throw new Error("HOLDPOINT_TEST_CONSOLE must name the folder with playwright-core: run scripts/console-tests");
const require = createRequire(join(packages, "package.json"));
const { chromium } = require("playwright-core");

/** axe-core, as a script that a page can run. */
export const AXE = require.resolve("axe-core/axe.min.js");
/** How long a page may take to show something. The tests wait for what they want to see, not for a time. */
export const PATIENCE_MS = 20_000;

/** One browser for a file of tests. */
export function launch() {
    return chromium.launch({ executablePath: process.env.HOLDPOINT_TEST_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}

/**
 * A window of its own with nothing from others, signed in as somebody.
 * Whatever the page complains about is a failure: an error, a script that the policy stopped, a request to somebody else.
 */
export async function open(browser, stage, { person = "ana", size = { width: 1280, height: 800 }, theme = "light", path = "", options = {} } = {}) {
    const context = await browser.newContext({ viewport: size, colorScheme: theme, reducedMotion: "reduce", locale: "en-GB", timezoneId: "UTC", ...options });
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    page.complaints = [];
    page.on("pageerror", (error) => page.complaints.push(`error: ${error.message}`));
    page.on("console", (message) => {
        // A status that says no and a server that is away are what some tests are about.
        if (message.type() === "error" && !/Failed to load resource/.test(message.text())) page.complaints.push(`console: ${message.text()}`);
    });
    page.on("request", (request) => {
        if (!request.url().startsWith(stage.url)) page.complaints.push(`a request to ${request.url()}`);
    });
    if (stage.people && person) {
        await page.goto(`${stage.url}/`);
        await page.getByLabel("Token").fill(PEOPLE[person].secret);
        await page.getByRole("button", { name: "Sign in" }).click();
        await page.getByRole("link", { name: /^Holdpoint/ }).waitFor();
        if (path) await page.goto(`${stage.url}/${path}`);
    } else {
        await page.goto(`${stage.url}/${path}`);
    }
    return page;
}

/** Ends a window, and says what it complained about. */
export async function close(page) {
    await page.context().close();
    assert.deepEqual(page.complaints, []);
}

/** Chooses a question by its tool. */
export async function choose(page, tool) {
    await page.locator(".row-link", { has: page.locator(`b.tool:text-is("${tool}")`) }).first().click();
    await page.locator(".q-tool", { hasText: tool }).waitFor();
}
