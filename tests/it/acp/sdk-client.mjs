// An editor on the official TypeScript SDK. Its arguments: the agent's command and the folder of the session.
// It does what the lines on its standard input say, and prints what it saw, a JSON value a line.
import { spawn } from "node:child_process";
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

await app.connectWith(stream, async (ctx) => {
  const hello = { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: { elicitation: { form: {} } } };
  tell({ initialized: await ctx.request(acp.methods.agent.initialize, hello) });
  const running = [];
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, method, params, notify, answer, result } = JSON.parse(line);
    if (answer) {
      open.get(answer)?.(result);
      open.delete(answer);
    } else if (notify) {
      await ctx.notify(notify, params);
    } else {
      // A prompt takes as long as its turn; other lines come meanwhile.
      const full = method === acp.methods.agent.session.new ? { cwd, mcpServers: [], ...params } : params;
      const request = ctx.request(method, full);
      running.push(request.then((value) => tell({ id, result: value }), (error) => tell({ id, error: error.message })));
    }
  }
  await Promise.all(running);
});
agent.stdin.end();
