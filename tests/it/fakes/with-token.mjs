// Passes requests on to the gate with a token: the conformance suite has no way to send one. Arguments: the address of the gate,
// the token. It prints its own address. What names this address as Host or Origin names the gate's instead; the rest stays.
import http from "node:http";

const [target, token] = process.argv.slice(2);
const { host, hostname, port } = new URL(target);
const server = http.createServer((request, response) => {
  const own = `127.0.0.1:${server.address().port}`;
  const headers = { ...request.headers, authorization: `Bearer ${token}` };
  for (const name of ["host", "origin"]) headers[name] &&= headers[name].replace(own, host).replace(`localhost:${server.address().port}`, host);
  const passed = http.request({ hostname, port, path: request.url, method: request.method, headers, agent: false }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    response.flushHeaders();
    answer.pipe(response);
  });
  passed.on("error", () => response.destroy());
  response.on("close", () => passed.destroy());
  request.pipe(passed);
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
