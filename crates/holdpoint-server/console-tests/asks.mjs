// An MCP server that asks people, for tests: just enough of the protocol, over its input and output.

import { createInterface } from "node:readline";

/** What each tool asks, one thing after another. */
const ASKS = {
    open_account: [
        {
            message: "Whose account is it?",
            requestedSchema: {
                type: "object", required: ["owner", "limit"],
                properties: {
                    owner: { type: "string", title: "Owner", description: "The name on the card.", minLength: 2 },
                    limit: { type: "integer", title: "Limit", minimum: 1, default: 500 },
                    kind: { type: "string", title: "Kind", enum: ["giro", "savings"], default: "giro" },
                    paper: { type: "boolean", title: "Letters on paper", default: false },
                },
            },
        },
        { message: "Is the number right?", requestedSchema: { type: "object", required: ["right"], properties: { right: { type: "boolean", title: "Right" } } } },
    ],
    sign_contract: [{ mode: "url", message: "Please sign the contract.", url: "https://sign.example.com/c/42", elicitationId: "e1" }],
};

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const tools = Object.keys(ASKS).map((name) => ({ name, description: `Does ${name}.`, inputSchema: { type: "object" } }));
const open = new Map();
let asked = 0;

/** Asks the next thing, or ends the call with everything that was said. */
function go(call) {
    const next = ASKS[call.name][call.said.length];
    if (!next) return send({ id: call.id, result: { content: [{ type: "text", text: `done with ${JSON.stringify(call.said)}` }] } });
    asked += 1;
    open.set(`ask-${asked}`, call);
    send({ id: `ask-${asked}`, method: "elicitation/create", params: next });
}

createInterface({ input: process.stdin }).on("line", (line) => {
    const message = JSON.parse(line);
    if (open.has(message.id) && !message.method) {
        const call = open.get(message.id);
        open.delete(message.id);
        call.said.push(message.result?.content ?? message.result?.action ?? null);
        go(call);
    } else if (message.method === "initialize") {
        send({ id: message.id, result: { protocolVersion: message.params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "asks", version: "1" } } });
    } else if (message.method === "tools/list") {
        send({ id: message.id, result: { tools } });
    } else if (message.method === "tools/call") {
        go({ id: message.id, name: message.params.name, said: [] });
    } else if (message.id !== undefined && message.method) {
        send({ id: message.id, result: {} });
    }
});
