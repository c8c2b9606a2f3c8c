// One scenario of the MCP conformance suite, done with `portcullis mcp` as a person would. The suite appends the address of
// its server, and says in the environment which scenario it is. PORTCULLIS is the program.
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const url = process.argv.at(-1);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? "";
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT || "{}");
// Where a client that is described by a document would have it.
const DESCRIPTION = "https://conformance-test.local/client-metadata.json";
const MOST_SIGN_INS = 3;

const home = fs.mkdtempSync(path.join(os.tmpdir(), "conformance-"));
const project = path.join(home, "project");
fs.mkdirSync(project);

const oauth = {};
if (scenario === "auth/basic-cimd") oauth.clientId = DESCRIPTION;
if (context.client_id) oauth.clientId = context.client_id;
const entry = { type: "http", url, protocolVersion: process.env.MCP_CONFORMANCE_PROTOCOL_VERSION, oauth };
fs.writeFileSync(path.join(home, ".claude.json"), JSON.stringify({ mcpServers: { s: entry } }));

const state = path.join(home, "state");
fs.mkdirSync(state, { mode: 0o700 });
const ours = Object.entries(process.env).filter(([name]) => name.startsWith("PORTCULLIS_TEST_"));
const environment = { ...Object.fromEntries(ours), PATH: process.env.PATH, HOME: home, PORTCULLIS_HOME: state };
if (context.client_secret) environment.MCP_CLIENT_SECRET = context.client_secret;

function start(words) {
  const child = spawn(process.env.PORTCULLIS, ["mcp", ...words], { cwd: project, env: environment });
  const ran = { stdout: "", stderr: "" };
  child.stdin.end();
  child.stdout.on("data", (piece) => { ran.stdout += piece; });
  child.stderr.on("data", (piece) => { ran.stderr += piece; process.stderr.write(piece); });
  ran.ended = new Promise((resolve) => child.on("close", (code) => resolve({ ...ran, code })));
  ran.child = child;
  return ran;
}

// The person at the browser: opens the address, agrees, and is sent back.
async function signIn() {
  const login = start(["login", "s", "--no-open", "--json"]);
  const address = await new Promise((resolve) => {
    const look = () => resolve(login.stdout.includes("\n") ? JSON.parse(login.stdout.split("\n")[0]).url : undefined);
    login.child.stdout.once("data", look);
    login.ended.then(look);
  });
  if (address) {
    const agreed = await fetch(address, { redirect: "manual" });
    const back = agreed.headers.get("location");
    if (!back) throw new Error(`nobody is sent back: ${agreed.status}`);
    await fetch(back).catch(() => {});
  }
  return (await login.ended).code === 0;
}

async function run(words) {
  for (let attempt = 0; ; attempt += 1) {
    const ran = await start(words).ended;
    const wantsSignIn = ran.code !== 0 && /sign in/.test(ran.stderr);
    if (!wantsSignIn || attempt >= MOST_SIGN_INS || !(await signIn())) return ran;
  }
}

function argumentsFor(tool) {
  const samples = { number: 1, integer: 1, string: "test", boolean: true };
  const required = tool.inputSchema?.required ?? [];
  return Object.fromEntries(required.map((name) => [name, samples[tool.inputSchema.properties?.[name]?.type] ?? null]));
}

const listed = await run(["tools", "s", "--json"]);
if (listed.code !== 0) process.exit(1);
const calls = context.toolCalls ?? context.tool_calls ??
  JSON.parse(listed.stdout).map((tool) => ({ name: tool.name, arguments: argumentsFor(tool) }));
let worst = 0;
for (const call of calls) {
  const form = scenario.startsWith("sep-2322") ? { username: "testuser", email: "test@example.com" } : {};
  const words = ["call", "--json", "--form", JSON.stringify(form), "s", call.name, JSON.stringify(call.arguments ?? {})];
  const ran = await run(words);
  // A tool that fails by itself is none of the client's faults.
  if (ran.code !== 0 && !ran.stdout.includes('"isError"')) worst = 1;
}
fs.rmSync(home, { recursive: true, force: true });
process.exit(worst);
