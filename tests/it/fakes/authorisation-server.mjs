// A real authorisation server (oidc-provider), and an MCP server whose calls need its tokens. The first line on standard
// output is the address of the MCP server. What happens is told there too, one word or two a line:
// registered, code S256, refresh, refused. POST /expire?hold=N makes all tokens old and holds the next refresh until N
// requests were refused; POST /expire?keep=1 makes them old and keeps the next answer to a refresh until POST /give; POST
// /revoke takes all grants back; from POST /refuse until POST /admit the MCP server refuses every token.
import http from "node:http";

const { Provider } = await import(process.env.OIDC);
const tell = (text) => process.stdout.write(`${text}\n`);
const listening = (server) => new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server.address().port)));

const mcp = http.createServer((request, response) => serve(request, response).catch((error) => {
  console.error(error);
  response.writeHead(500).end();
}));
const resource = `http://127.0.0.1:${await listening(mcp)}/mcp`;
const metadata = resource.replace("/mcp", "/.well-known/oauth-protected-resource/mcp");

let handle = (_, response) => response.writeHead(503).end();
const front = http.createServer((request, response) => handle(request, response));
const issuer = `http://127.0.0.1:${await listening(front)}`;

const grants = new Set();
const old = new Set();
const current = new Set();
let refuses = false;
let holding = { refusals: 0, until: 0, release: () => {}, free: Promise.resolve() };
let keeping = { give: () => {}, given: Promise.resolve() };

const provider = new Provider(issuer, {
  scopes: ["openid", "offline_access", "mcp:basic", "mcp:write"],
  pkce: { required: () => true },
  rotateRefreshToken: true,
  issueRefreshToken: async () => true,
  findAccount: (_, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
  interactions: { url: (_, interaction) => `/agree/${interaction.uid}` },
  cookies: { keys: ["test"] },
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({ scope: "mcp:basic mcp:write", audience: resource, accessTokenTTL: 3600 }),
    },
  },
});
provider.on("registration_create.success", () => tell("registered"));
provider.on("access_token.saved", (token) => {
  grants.add(token.grantId);
  current.add(token.jti);
});
provider.on("server_error", (_, error) => console.error(error));
provider.use(async (ctx, next) => {
  if (ctx.path.startsWith("/agree/")) return agree(ctx);
  if (ctx.path === "/auth" && ctx.query.code_challenge_method) tell(`code ${ctx.query.code_challenge_method}`);
  if (ctx.path === "/token") await holding.free;
  await next();
  if (ctx.path === "/token" && ctx.oidc?.params?.grant_type === "refresh_token" && ctx.status === 200) {
    tell("refresh");
    await keeping.given;
  }
});
handle = provider.callback();

// Ann agrees to everything that is asked for.
async function agree(ctx) {
  const { params, session, grantId } = await provider.interactionDetails(ctx.req, ctx.res);
  const accountId = session?.accountId ?? "ann";
  const grant = (grantId && await provider.Grant.find(grantId)) || new provider.Grant({ accountId, clientId: params.client_id });
  grant.addOIDCScope(params.scope ?? "");
  grant.addResourceScope(resource, params.scope ?? "");
  const consent = { grantId: await grant.save() };
  ctx.respond = false;
  await provider.interactionFinished(ctx.req, ctx.res, { login: { accountId }, consent }, { mergeWithLastSubmission: false });
}

async function serve(request, response) {
  const address = new URL(request.url, resource);
  const json = (status, value, headers = {}) =>
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(value));
  if (address.pathname === new URL(metadata).pathname) {
    return json(200, { resource, authorization_servers: [issuer], scopes_supported: ["mcp:basic"] });
  }
  if (address.pathname === "/expire") {
    for (const id of current) old.add(id);
    const until = Number(address.searchParams.get("hold") ?? 0);
    holding = { refusals: 0, until };
    holding.free = until ? new Promise((release) => { holding.release = release; }) : Promise.resolve();
    if (address.searchParams.has("keep")) keeping.given = new Promise((give) => { keeping.give = give; });
    return json(200, {});
  }
  if (address.pathname === "/give") {
    keeping.give();
    return json(200, {});
  }
  if (address.pathname === "/refuse" || address.pathname === "/admit") {
    refuses = address.pathname === "/refuse";
    return json(200, {});
  }
  if (address.pathname === "/revoke") {
    for (const id of grants) {
      await provider.RefreshToken.revokeByGrantId(id);
      await provider.AccessToken.revokeByGrantId(id);
    }
    return json(200, {});
  }
  if (address.pathname !== "/mcp") return json(404, {});
  const value = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
  const token = value && await provider.AccessToken.find(value);
  if (!token || refuses || old.has(token.jti)) {
    tell("refused");
    holding.refusals += 1;
    if (holding.refusals >= holding.until) holding.release?.();
    return json(401, {}, { "www-authenticate": `Bearer resource_metadata="${metadata}", scope="mcp:basic"` });
  }
  if (request.method !== "POST") return json(405, {});
  let body = "";
  for await (const piece of request) body += piece;
  const { id, method, params } = JSON.parse(body);
  if (id === undefined) return response.writeHead(202).end();
  const result = (value) => json(200, { jsonrpc: "2.0", id, result: value });
  switch (method) {
    case "initialize":
      return result({ protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "guarded", version: "1" } });
    case "tools/list":
      return result({ tools: ["read", "write"].map((name) => ({ name, inputSchema: { type: "object" } })) });
    case "tools/call":
      if (params.name === "write" && !token.scope.split(" ").includes("mcp:write")) {
        const more = `Bearer error="insufficient_scope", scope="mcp:write", resource_metadata="${metadata}"`;
        return json(403, {}, { "www-authenticate": more });
      }
      return result({ content: [{ type: "text", text: `${params.name} with ${token.scope}` }] });
    default:
      return json(200, { jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } });
  }
}

tell(resource);
