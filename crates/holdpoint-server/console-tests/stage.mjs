// A server of the test's own: the real binary, a configuration with scripted models, a folder that is gone afterwards.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** How long a server may take to answer its first request. */
const START_MS_MAX = 60_000;
/** How long it may take to end. */
const STOP_MS_MAX = 20_000;

/** The tokens of the people in these tests: each a name, its roles and what it approves as. */
export const PEOPLE = {
    ana: { secret: "ana-secret-ana-secret-ana-secret", roles: ["read", "approve", "submit"], approves_as: ["finance"] },
    ben: { secret: "ben-secret-ben-secret-ben-secret", roles: ["read", "approve"], approves_as: ["finance"] },
    boss: { secret: "boss-secret-boss-secret-boss-sec", roles: ["admin"], approves_as: ["finance", "operations"] },
    desk: { secret: "desk-secret-desk-secret-desk-sec", roles: ["submit"], approves_as: [] },
    cara: { secret: "cara-secret-cara-secret-cara-sec", roles: ["approve"], approves_as: ["operations"] },
    robot: { secret: "robot-secret-robot-secret-robot-", roles: ["work"], approves_as: [] },
};

const REFUND = `{ type = "object", required = ["order", "amount"], additionalProperties = false, properties = { order = { type = "string", description = "The order's number.", pattern = "^[A-Z]-[0-9]+$" }, amount = { type = "integer", description = "What to pay back, in euros.", minimum = 1, maximum = 5000 }, note = { type = "string", maxLength = 200 } } }`;

/** What an agent of the tests consists of: its script, its policy and its tools. */
const AGENTS = {
    support: {
        description: "Answers customers, looks orders up, pays money back.",
        keys: 'context_keys = ["customer"]',
        tools: `[agents.support.tools.find_order]
kind = "command"
command = ["printf", "order %s: 1 kettle, 180 EUR, delivered broken", "{order}"]
description = "Looks an order up."
repeat = "safe"
parameters = { type = "object", required = ["order"], properties = { order = { type = "string" } } }
[agents.support.tools.refund]
kind = "command"
command = ["printf", "paid %s back for %s", "{amount}", "{order}"]
description = "Pays money back to the card that the customer paid with. It cannot be undone."
parameters = ${REFUND}`,
        policy: `[[rule]]
tool = "find_order"
decide = "allow"
[[rule]]
tool = "refund"
when = { "/amount" = { gt = 100 } }
decide = "confirm"
reason = "a refund above 100 needs somebody from finance"
approvers = ["finance"]
expires_in = "4h"
[[rule]]
tool = "refund"
decide = "allow"`,
        script: `- text: "I look the order up first."
  calls: [{id: look, tool: find_order, arguments: {order: "A-42"}}]
  usage: {input: 210, output: 18}
- text: "The kettle arrived broken, so I pay the money back."
  calls: [{id: pay, tool: refund, arguments: {order: "A-42", amount: 180, note: "kettle arrived broken"}}]
  usage: {input: 260, output: 21}
- text: "I have looked into order A-42 and told you what happened."
  usage: {input: 310, output: 24}`,
    },
    treasury: {
        description: "Moves money between accounts of the house.",
        tools: `[agents.treasury.tools.transfer]
kind = "command"
command = ["printf", "moved %s", "{amount}"]
description = "Moves money from one account to another."
parameters = { type = "object", required = ["from", "to", "amount"], properties = { from = { type = "string" }, to = { type = "string" }, amount = { type = "number" }, currency = { type = "string", enum = ["EUR", "USD"] } } }`,
        policy: `[[rule]]
tool = "transfer"
decide = "confirm"
reason = "money leaves the house: two signatures"
approvers = ["finance"]
quorum = 2
expires_in = "30m"`,
        script: `- calls: [{id: move, tool: transfer, arguments: {from: "DE02 1203 0000 0000 2020 51", to: "FR14 2004 1010 0505 0001 3M02 606", amount: 12500.5, currency: EUR}}]
- text: "The money is where it belongs."`,
    },
    mailer: {
        description: "Writes to customers.",
        tools: `[agents.mailer.tools.send_mail]
kind = "command"
command = ["printf", "sent"]
description = "Sends a mail."
parameters = { type = "object", required = ["to", "text"], properties = { to = { type = "string" }, subject = { type = "string" }, text = { type = "string" } } }`,
        policy: `[[rule]]
tool = "send_mail"
decide = "confirm"
reason = "mails to customers are read first"`,
        script: `- text: "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
  calls: [{id: mail, tool: send_mail, arguments: {to: "ana@example.com\\u202Emoc.live@", subject: "pay\\u200Bpal\\u0007", text: "<script>window.hacked = 1</script><img src=x onerror=\\"window.hacked = 1\\">"}}]
- text: "Sent."`,
    },
    quick: {
        description: "Asks, and does not wait long.",
        tools: `[agents.quick.tools.restart]
kind = "command"
command = ["printf", "restarted %s", "{host}"]
description = "Restarts a machine."
parameters = { type = "object", required = ["host"], properties = { host = { type = "string" } } }`,
        policy: `[[rule]]
tool = "restart"
decide = "confirm"
reason = "machines go down"
expires_in = "3s"`,
        script: `- calls: [{id: boot, tool: restart, arguments: {host: "web-1"}}]
- text: "Nobody answered in time."`,
    },
    shipping: {
        description: "Books shipments with a carrier that workers talk to.",
        keys: "max_task_attempts = 1",
        tools: `[agents.shipping.tools.book_shipment]
kind = "worker"
description = "Books a shipment. Every booking costs money."
parameters = { type = "object", required = ["parcel"], properties = { parcel = { type = "string" }, express = { type = "boolean" } } }`,
        policy: `[[rule]]
tool = "book_shipment"
decide = "allow"`,
        script: `- text: "I book the parcel with the carrier."
  calls: [{id: book, tool: book_shipment, arguments: {parcel: "P-7", express: true}}]
- text: "The parcel is booked."`,
    },
    bank: {
        description: "Opens accounts. Its tools ask people.",
        tools: `[agents.bank.mcp.desk]
command = [${JSON.stringify(process.execPath)}, ${JSON.stringify(new URL("asks.mjs", import.meta.url).pathname)}]`,
        policy: `[[rule]]
tool = "desk__open_account"
decide = "confirm"
reason = "accounts are opened by people"
[[rule]]
tool = "desk__sign_contract"
decide = "allow"`,
        script: `- calls: [{id: open, tool: desk__open_account, arguments: {}}]
- calls: [{id: sign, tool: desk__sign_contract, arguments: {}}]
- text: "The account is open."`,
    },
    crane: {
        description: "Moves heavy things. The first time it takes very long.",
        keys: "lease_ms = 3000",
        tools: `[agents.crane.tools.lift]
kind = "command"
command = ["sh", "-c", "if [ -e lifted ]; then printf lifted; else : > lifted; exec sleep 60; fi"]
description = "Lifts a container."
parameters = { type = "object", required = ["container"], properties = { container = { type = "string" } } }`,
        policy: `[[rule]]
tool = "lift"
decide = "confirm"
reason = "heavy things"`,
        script: `- calls: [{id: up, tool: lift, arguments: {container: "C-9"}}]
- text: "It is up."`,
    },
    operations: {
        description: "Asks those who keep machines running.",
        tools: `[agents.operations.tools.reboot]
kind = "command"
command = ["printf", "rebooted %s", "{host}"]
description = "Starts a machine again."
parameters = { type = "object", required = ["host"], properties = { host = { type = "string" } } }`,
        policy: `[[rule]]
tool = "reboot"
decide = "confirm"
reason = "machines go down"
approvers = ["operations"]
expires_in = "8h"`,
        script: `- calls: [{id: boot, tool: reboot, arguments: {host: "db-1"}}]
- text: "It is up again."`,
    },
    accountant: {
        description: "Books very large numbers.",
        tools: `[agents.accountant.tools.book]
kind = "command"
command = ["printf", "booked"]
stdin = "json"
description = "Books an amount."
parameters = { type = "object", required = ["amount"], properties = { amount = { type = "integer" }, text = { type = "string" } } }`,
        policy: `[[rule]]
tool = "book"
decide = "confirm"
reason = "amounts are looked at"`,
        script: `- calls: [{id: book, tool: book, arguments: {amount: 9007199254740993, text: "all of it"}}]
- text: "It is booked."`,
    },
    fleet: {
        description: "Books two shipments at once.",
        keys: "max_task_attempts = 1",
        tools: `[agents.fleet.tools.book_truck]
kind = "worker"
description = "Books a truck."
parameters = { type = "object", required = ["truck"], properties = { truck = { type = "string" } } }`,
        policy: `[[rule]]
tool = "book_truck"
decide = "allow"`,
        script: `- calls: [{id: one, tool: book_truck, arguments: {truck: "T-1"}}, {id: two, tool: book_truck, arguments: {truck: "T-2"}}, {id: three, tool: book_truck, arguments: {truck: "T-3"}}]
- text: "The trucks are booked."`,
    },
    broken: {
        description: "A model that fails at first.",
        tools: `[agents.broken.tools.wait]
kind = "command"
command = ["true"]
description = "Does nothing."`,
        policy: `[[rule]]
tool = "wait"
decide = "allow"`,
        script: `- fail: "the model is not available"
- text: "Now I am here."`,
    },
};

function longScript(turns) {
    const lines = [];
    for (let turn = 1; turn <= turns; turn++) {
        lines.push(`- text: "Step ${turn}: I look at order A-${turn}."`);
        lines.push(`  calls: [{id: look, tool: find_order, arguments: {order: "A-${turn}"}}]`);
        lines.push("  usage: {input: 100, output: 10}");
    }
    lines.push('- text: "I have looked at all of them."');
    return lines.join("\n");
}

/** An agent of 500 turns; its tool is a program, so that each call is a real one. */
export const LONG_TURNS = 500;
AGENTS.long = {
    description: "Looks at very many orders.",
    keys: `max_turns = ${LONG_TURNS + 5}`,
    tools: `[agents.long.tools.find_order]
kind = "command"
command = ["printf", "order %s: a kettle", "{order}"]
description = "Looks an order up."
repeat = "safe"
parameters = { type = "object", required = ["order"], properties = { order = { type = "string" } } }`,
    policy: `[[rule]]
tool = "find_order"
decide = "allow"`,
    script: longScript(LONG_TURNS),
};

function bigScript() {
    const keys = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`key_${i}`, i]));
    const many = JSON.stringify({ text: "ten thousand keys", data: keys });
    const long = JSON.stringify({ text: "x".repeat(50) + "-".repeat(195_000) + "the end", data: {} });
    return `- calls: [{id: many, tool: store, arguments: ${many}}]
- calls: [{id: long, tool: store, arguments: ${long}}]
- text: "Stored."`;
}
AGENTS.archive = {
    description: "Stores large things.",
    tools: `[agents.archive.tools.store]
kind = "command"
command = ["printf", "stored"]
stdin = "json"
description = "Stores something."
parameters = { type = "object", required = ["text"], properties = { text = { type = "string" }, data = { type = "object" } } }`,
    policy: `[[rule]]
tool = "store"
decide = "confirm"
reason = "large things are looked at"`,
    script: bigScript(),
};

function config(folder, { port, people }) {
    let text = `[server]
listen = "127.0.0.1:${port}"
store = "sqlite:${folder}/runs.db"
signing_key_file = "${folder}/server.key"
requests_per_second = 1000
requests_burst = 2000
`;
    if (people) {
        for (const [name, { roles, approves_as }] of Object.entries(PEOPLE)) {
            text += `[[tokens]]\nname = "${name}"\ntenant = "acme"\nroles = ${JSON.stringify(roles)}\n`;
            text += `approves_as = ${JSON.stringify(approves_as)}\nsecret_env = "TOKEN_${name.toUpperCase()}"\n`;
        }
    }
    for (const [name, agent] of Object.entries(AGENTS)) {
        writeFileSync(join(folder, `${name}.yaml`), agent.script);
        writeFileSync(join(folder, `${name}.policy.toml`), agent.policy);
        text += `[agents.${name}]\ndescription = "${agent.description}"\nmodel = "scripted:${name}.yaml"\n`;
        text += `system_prompt = "You work for a shop."\npolicy = "${name}.policy.toml"\n${agent.keys ?? ""}\n${agent.tools}\n`;
    }
    return text;
}

/** A free port of this machine. */
export function freePort() {
    return new Promise((resolve, reject) => {
        const server = createServer();
        server.once("error", reject);
        server.listen(0, "127.0.0.1", () => {
            const address = server.address();
            server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
        });
    });
}

/** A way to a server that can be cut, as a network is. */
export class Wire {
    static async open(stage) {
        const wire = new Wire();
        wire.sockets = new Set();
        wire.whole = true;
        wire.server = createServer((near) => {
            if (!wire.whole) return near.destroy();
            const far = connect(stage.port, "127.0.0.1");
            for (const [from, to] of [[near, far], [far, near]]) {
                wire.sockets.add(from);
                from.on("error", () => to.destroy());
                from.on("close", () => {
                    wire.sockets.delete(from);
                    to.destroy();
                });
                from.pipe(to);
            }
        });
        await new Promise((resolve) => wire.server.listen(0, "127.0.0.1", resolve));
        wire.url = `http://127.0.0.1:${wire.server.address().port}`;
        wire.people = stage.people;
        return wire;
    }

    cut() {
        this.whole = false;
        for (const socket of this.sockets) socket.destroy();
    }

    mend() {
        this.whole = true;
    }

    close() {
        this.cut();
        this.server.close();
    }
}

/** The server and its folder. */
export class Stage {
    /** Starts a server; `people: false` makes one without tokens, for this machine only, `edit` changes its configuration. */
    static async open({ people = true, port = 0, edit } = {}) {
        const binary = process.env.HOLDPOINT_TEST_BINARY;
        if (!binary) throw new Error("HOLDPOINT_TEST_BINARY must name the holdpoint binary: run scripts/console-tests");
        const stage = new Stage();
        stage.binary = binary;
        stage.people = people;
        stage.folder = mkdtempSync(join(process.env.HOLDPOINT_TEST_FOLDER ?? tmpdir(), "holdpoint-console-"));
        stage.port = port || (await freePort());
        stage.url = `http://127.0.0.1:${stage.port}`;
        stage.configure(edit);
        await stage.start();
        return stage;
    }

    /** Writes the configuration, changed by `edit`; it holds from the next start on. */
    configure(edit = (text) => text) {
        writeFileSync(join(this.folder, "holdpoint.toml"), edit(config(this.folder, this)));
    }

    async start() {
        const env = { ...process.env };
        for (const [name, { secret }] of Object.entries(PEOPLE)) env[`TOKEN_${name.toUpperCase()}`] = secret;
        this.log = "";
        this.child = spawn(this.binary, ["serve", "--config", join(this.folder, "holdpoint.toml")], {
            cwd: this.folder, env, stdio: ["ignore", "pipe", "pipe"],
        });
        for (const stream of [this.child.stdout, this.child.stderr]) {
            stream.on("data", (data) => { this.log = (this.log + data).slice(-20_000); });
        }
        const until = Date.now() + START_MS_MAX;
        for (;;) {
            const ready = await fetch(`${this.url}/readyz`).then((answer) => answer.ok, () => false);
            if (ready) return;
            if (this.child.exitCode !== null || Date.now() > until) throw new Error(`the server does not start:\n${this.log}`);
            // tidy: sleeps because only a port that answers says that the server is there.
            await sleep(50);
        }
    }

    /** Ends the server and leaves its folder: what was durable is there again after `start`. */
    async stop(signal = "SIGTERM") {
        const { child } = this;
        if (child.exitCode === null && child.signalCode === null) {
            const gone = new Promise((resolve) => child.once("exit", resolve));
            child.kill(signal);
            await Promise.race([gone, sleep(STOP_MS_MAX).then(() => child.kill("SIGKILL"))]);
        }
    }

    async close() {
        await this.stop("SIGKILL");
        rmSync(this.folder, { recursive: true, force: true });
    }

    /** A request with somebody's token, outside the browser. */
    async ask(person, path, body, method = body === undefined ? "GET" : "POST") {
        const headers = {};
        if (this.people && person) headers.authorization = `Bearer ${PEOPLE[person].secret}`;
        if (body !== undefined) headers["content-type"] = "application/json";
        const answer = await fetch(this.url + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
        const text = await answer.text();
        const json = text ? JSON.parse(text) : null;
        if (!answer.ok) throw Object.assign(new Error(`${method} ${path}: ${answer.status} ${text}`), { status: answer.status, json });
        return json;
    }

    /** Waits until something about a run is so, and gives the run. */
    async until(id, holds, path = "") {
        for (const end = Date.now() + START_MS_MAX; ;) {
            const said = await this.ask("boss", `/v1/runs/${encodeURIComponent(id)}${path}`);
            if (holds(said)) return said;
            if (Date.now() > end) throw new Error(`the run never came so far: ${JSON.stringify(said)}`);
            // tidy: sleeps because the server is asked again and again until it says so.
            await sleep(30);
        }
    }

    /** Starts a run and waits until it pauses or ends. */
    run(agent, input = "My kettle from order A-42 arrived broken.", person = "ana") {
        return this.ask(person, "/v1/runs?wait_ms=50000", { agent, input });
    }
}
