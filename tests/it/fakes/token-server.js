// An MCP server over HTTP that lets in whoever sends the token in TOKEN, and appends each refusal to the file in REFUSALS.
const fs = require("node:fs");
const http = require("node:http");

const answers = {
  initialize: () => ({ protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "token", version: "1.0.0" } }),
  "tools/list": () => ({ tools: [{ name: "echo", inputSchema: { type: "object" } }] }),
  "tools/call": () => ({ content: [{ type: "text", text: "let in" }] }),
};

const server = http.createServer((request, response) => {
  let body = "";
  request.on("data", (piece) => (body += piece));
  request.on("end", () => {
    if (request.headers.authorization !== `Bearer ${process.env.TOKEN}`) {
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
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
