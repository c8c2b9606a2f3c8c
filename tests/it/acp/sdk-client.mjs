// An editor on the official TypeScript SDK. Its arguments: the agent's command and the folder of the session.
// With ACP_DESK it has files and terminals: buffers that lines set, and commands that run.
// It does what the lines on its standard input say, and prints what it saw, a JSON value a line.
import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { Readable, Writable } from "node:stream";

const acp = await import(pathToFileURL(process.env.ACP_SDK));
const [command, cwd] = process.argv.slice(2);
const tell = (value) => process.stdout.write(JSON.stringify(value) + "\n");

const agent = spawn(command, [], { stdio: ["pipe", "pipe", "inherit"] });
const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));

// Requests of the agent wait here for a line that answers them.
const open = new Map();
let next = 0;
const ask = (kind) => ({ params, signal }) =>
  new Promise((resolve, reject) => {
    const key = String(++next);
    open.set(key, resolve);
    signal?.addEventListener("abort", () => {
      open.delete(key);
      tell({ withdrawn: key });
      reject(signal.reason);
    });
    tell({ asked: key, kind, params });
  });

const app = acp
  .client({ name: "sdk-client" })
  .onNotification(acp.methods.client.session.update, ({ params }) => tell({ update: params }))
  .onRequest(acp.methods.client.session.requestPermission, ask("permission"))
  .onRequest(acp.methods.client.elicitation.create, ask("form"));

const buffers = new Map();
const terminals = new Map();
const files = {
  read: async ({ params }) => ({ content: buffers.get(params.path) ?? (await readFile(params.path, "utf8")) }),
  write: async ({ params }) => {
    buffers.delete(params.path);
    await writeFile(params.path, params.content);
    tell({ saved: params.path });
    return {};
  },
};
const create = ({ params }) => {
  const env = Object.fromEntries((params.env ?? []).map(({ name, value }) => [name, value]));
  const child = spawn(params.command, params.args, { cwd: params.cwd, env: { ...process.env, ...env } });
  const terminal = { child, output: "", exit: null };
  terminal.ended = new Promise((resolve) =>
    child.on("close", (code, signal) => resolve((terminal.exit = { exitCode: code, signal }))),
  );
  for (const printed of [child.stdout, child.stderr]) printed.on("data", (data) => (terminal.output += data));
  const terminalId = `terminal-${terminals.size + 1}`;
  terminals.set(terminalId, terminal);
  tell({ terminal: terminalId, command: params.args.at(-1) });
  return { terminalId };
};
const desk = process.env.ACP_DESK !== undefined;
if (desk) {
  const { fs, terminal } = acp.methods.client;
  const of = (params) => terminals.get(params.terminalId);
  const end = async ({ params }) => {
    of(params).child.kill();
    await of(params).ended;
    return {};
  };
  app
    .onRequest(fs.readTextFile, files.read)
    .onRequest(fs.writeTextFile, files.write)
    .onRequest(terminal.create, create)
    .onRequest(terminal.output, ({ params: p }) => ({ output: of(p).output, truncated: false, exitStatus: of(p).exit }))
    .onRequest(terminal.waitForExit, ({ params }) => of(params).ended)
    .onRequest(terminal.kill, end)
    .onRequest(terminal.release, end);
}

await app.connectWith(stream, async (ctx) => {
  const clientCapabilities = { elicitation: { form: {} } };
  if (desk) Object.assign(clientCapabilities, { fs: { readTextFile: true, writeTextFile: true }, terminal: true });
  const hello = { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities };
  tell({ initialized: await ctx.request(acp.methods.agent.initialize, hello) });
  const running = [];
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, method, params, notify, answer, result, buffer, text } = JSON.parse(line);
    if (buffer) {
      buffers.set(buffer, text);
    } else if (answer) {
      open.get(answer)?.(result);
      open.delete(answer);
    } else if (notify) {
      await ctx.notify(notify, params);
    } else {
      // A prompt takes as long as its turn; other lines come meanwhile.
      const opens = [acp.methods.agent.session.new, acp.methods.agent.session.load].includes(method);
      const full = opens ? { cwd, mcpServers: [], ...params } : params;
      const request = ctx.request(method, full);
      running.push(request.then((value) => tell({ id, result: value }), (error) => tell({ id, error: error.message })));
    }
  }
  await Promise.all(running);
});
agent.stdin.end();
