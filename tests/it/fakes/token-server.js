// An MCP server over HTTP at /mcp. Where there is a TOKEN it lets in whoever sends it, and appends each refusal to the file in
// REFUSALS. It listens on PORT, or on any; /old leads to /mcp, /round to itself, and /away to another server. As many
// requests as FAILS says are answered 503 before.
const fs = require("node:fs");
const http = require("node:http");

const answers = {
  initialize: () => ({ protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "token", version: "1.0.0" } }),
  "tools/list": () => ({ tools: [{ name: "echo", inputSchema: { type: "object" } }] }),
  "tools/call": () => ({ content: [{ type: "text", text: "let in" }] }),
};

let fails = Number(process.env.FAILS ?? 0);

const server = http.createServer((request, response) => {
  let body = "";
  request.on("data", (piece) => (body += piece));
  request.on("end", () => {
    if (fails-- > 0) return response.writeHead(503).end("not now");
    const leads = { "/old": [307, "/mcp"], "/round": [308, "/round"], "/away": [307, "http://127.0.0.1:1/mcp"] }[request.url];
    if (leads) return response.writeHead(leads[0], { location: leads[1] }).end();
    if (process.env.TOKEN && request.headers.authorization !== `Bearer ${process.env.TOKEN}`) {
      fs.appendFileSync(process.env.REFUSALS, `${request.headers.authorization}\n`);
      return response.writeHead(401).end();
    }
    if (request.method !== "POST") return response.writeHead(405).end();
    const { id, method } = JSON.parse(body);
    if (id === undefined) return response.writeHead(202).end();
    const said = answers[method] ? { result: answers[method]() } : { error: { code: -32601, message: "Method not found" } };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ jsonrpc: "2.0", id, ...said }));
  });
});
server.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () => console.log(server.address().port));
