// An MCP server with everything that the conformance suite asks of one, on standard streams, in both revisions: a client that
// says `initialize` is one of 2025-11-25, one that says in each request what it is is one of 2026-07-28.
const crypto = require("node:crypto");
const META = "io.modelcontextprotocol/";
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const SOUND = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";
const KEY = crypto.randomBytes(32);

const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const text = (words) => ({ type: "text", text: words });
const image = { type: "image", data: PIXEL, mimeType: "image/png" };
const embedded = (uri, mimeType, words) => ({ type: "resource", resource: { uri, mimeType, text: words } });
class Refused extends Error {
  constructor(code, message, data) {
    super(message);
    Object.assign(this, { code, data });
  }
}

// What the client is asked by, in each revision: a request of ours, or the result itself.
const waiting = new Map();
let asked = 0;
let initialized; // the capabilities of a client with a session
const ask = (method, params) =>
  new Promise((answered) => {
    const id = `ask${++asked}`;
    waiting.set(id, answered);
    write({ id, method, params });
  });
const required = (inputRequests, requestState) => ({ resultType: "input_required", inputRequests, ...(requestState && { requestState }) });
const elicit = (message, properties) => ({
  method: "elicitation/create",
  params: { mode: "form", message, requestedSchema: { type: "object", properties, required: Object.keys(properties) } },
});
const sample = (words, maxTokens) => ({
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: text(words) }], maxTokens },
});
const STRING = { type: "string" };
// A state that nobody else can make.
const sign = (words) => `${words}.${crypto.createHmac("sha256", KEY).update(words).digest("hex")}`;
const signed = (state) => {
  const words = String(state ?? "").split(".")[0];
  if (state !== sign(words)) throw new Refused(-32602, "the state is not ours");
  return words;
};
// What was answered, if it has the shape of an answer.
const given = (params, key) => {
  const responses = params.inputResponses;
  if (responses === undefined) return undefined;
  if (responses === null || typeof responses !== "object") throw new Refused(-32602, "inputResponses is no object");
  const answer = responses[key];
  if (answer !== undefined && (answer === null || typeof answer !== "object")) throw new Refused(-32602, `${key} is no object`);
  return answer;
};
const elicited = async (message, properties, more) => {
  if (!initialized?.elicitation) throw new Refused(-32602, "the client has nobody to ask");
  const { method, params } = elicit(message, properties);
  const { result } = await ask(method, { ...params, ...more });
  return `action=${result?.action}, content=${JSON.stringify(result?.content ?? {})}`;
};
const ENUM = ["option1", "option2", "option3"];
const titled = (kind) => [1, 2, 3].map((n) => ({ const: `value${n}`, title: `${kind} ${n}` }));
const list = (method) => write({ method: `notifications/${method}/list_changed` });

// By name: what each does with the parameters of its call.
const tools = {
  test_simple_text: () => [text("This is a simple text response for testing.")],
  test_image_content: () => [image],
  test_audio_content: () => [{ type: "audio", data: SOUND, mimeType: "audio/wav" }],
  test_embedded_resource: () => [embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")],
  test_multiple_content_types: () => [
    text("Multiple content types test:"), image,
    embedded("test://mixed-content-resource", "application/json", JSON.stringify({ test: "data", value: 123 })),
  ],
  test_error_handling: () => ({ isError: true, content: [text("This tool intentionally returns an error for testing")] }),
  test_tool_with_logging: async () => {
    for (const data of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      write({ method: "notifications/message", params: { level: "info", logger: "conformance", data } });
      await pause(50);
    }
    return [text("logged")];
  },
  test_tool_with_progress: async ({ _meta }) => {
    const progressToken = _meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined) write({ method: "notifications/progress", params: { progressToken, progress, total: 100 } });
      await pause(50);
    }
    return [text("done")];
  },
  test_sampling: async ({ arguments: { prompt } }) => {
    if (!initialized?.sampling) throw new Refused(-32602, "the client lends no model");
    const { method, params } = sample(prompt, 100);
    const { result, error } = await ask(method, params);
    if (error) throw new Refused(error.code, error.message);
    return [text(`LLM response: ${result.content.text}`)];
  },
  test_elicitation: async ({ arguments: { message } }) =>
    [text(`User response: ${await elicited(message, { username: { ...STRING, description: "User's response" }, email: { ...STRING, description: "User's email address" } })}`)],
  test_elicitation_sep1034_defaults: async () => [text(`Elicitation completed: ${await elicited("Please review and update the form fields with defaults", {
    name: { ...STRING, default: "John Doe" }, age: { type: "integer", default: 30 }, score: { type: "number", default: 95.5 },
    status: { ...STRING, enum: ["active", "inactive", "pending"], default: "active" }, verified: { type: "boolean", default: true },
  })}`)],
  test_elicitation_sep1330_enums: async () => [text(`Elicitation completed: ${await elicited("Please choose", {
    untitledSingle: { ...STRING, enum: ENUM }, titledSingle: { ...STRING, oneOf: titled("Option") },
    legacyEnum: { ...STRING, enum: ["opt1", "opt2", "opt3"], enumNames: ["Option One", "Option Two", "Option Three"] },
    untitledMulti: { type: "array", items: { ...STRING, enum: ENUM } }, titledMulti: { type: "array", items: { anyOf: titled("Choice") } },
  })}`)],
  test_input_required_result_elicitation: (params) => {
    const name = given(params, "user_name")?.content?.name;
    return name ? [text(`Hello, ${name}!`)] : required({ user_name: elicit("What is your name?", { name: STRING }) });
  },
  test_input_required_result_sampling: (params) => {
    const answer = given(params, "capital_question");
    return answer ? [text(JSON.stringify(answer.content))] : required({ capital_question: sample("What is the capital of France?", 100) });
  },
  test_input_required_result_list_roots: (params) => {
    const answer = given(params, "client_roots");
    return answer ? [text(JSON.stringify(answer.roots))] : required({ client_roots: { method: "roots/list", params: {} } });
  },
  test_input_required_result_request_state: (params) => {
    if (!given(params, "confirm")) return required({ confirm: elicit("Please confirm", { ok: { type: "boolean" } }) }, sign("confirm"));
    signed(params.requestState);
    return [text("state-ok")];
  },
  test_input_required_result_tampered_state: (params) => {
    if (params.requestState !== undefined) signed(params.requestState);
    return given(params, "confirm") ? [text("state-ok")] : required({ confirm: elicit("Please confirm", { ok: { type: "boolean" } }) }, sign("tampered"));
  },
  test_input_required_result_multiple_inputs: (params) => {
    const all = ["user_name", "greeting", "client_roots"].map((key) => given(params, key));
    if (all.every(Boolean)) return signed(params.requestState), [text(JSON.stringify(all))];
    const roots = { method: "roots/list", params: {} };
    return required({ user_name: elicit("What is your name?", { name: STRING }), greeting: sample("Generate a greeting", 50), client_roots: roots }, sign("many"));
  },
  test_input_required_result_multi_round: (params) => {
    const round = params.requestState === undefined ? 0 : Number(signed(params.requestState));
    if (round === 0) return required({ step1: elicit("Step 1: What is your name?", { name: STRING }) }, sign("1"));
    if (round === 1 && given(params, "step1")) return required({ step2: elicit("Step 2: What is your favorite color?", { color: STRING }) }, sign("2"));
    return [text(`done after ${round + 1} rounds`)];
  },
  test_input_required_result_capabilities: ({ _meta }) => {
    const can = _meta?.[`${META}clientCapabilities`] ?? {};
    const requests = { ...(can.elicitation && { name: elicit("What is your name?", { name: STRING }) }), ...(can.sampling && { greeting: sample("Generate a greeting", 50) }) };
    return required(requests);
  },
  test_missing_capability: ({ _meta }) => {
    if (!_meta?.[`${META}clientCapabilities`]?.sampling)
      throw new Refused(-32021, "this needs sampling", { requiredCapabilities: { sampling: {} } });
    return [text("the client lends a model")];
  },
  test_streaming_elicitation: (params) => tools.test_input_required_result_elicitation(params),
  test_logging_tool: ({ _meta }) => {
    if (_meta?.[`${META}logLevel`]) write({ method: "notifications/message", params: { level: "info", data: "asked for" } });
    return [text("logged, where that was wanted")];
  },
  test_trigger_tool_change: () => (changed("tools"), [text("changed")]),
  test_trigger_prompt_change: () => (changed("prompts"), [text("changed")]),
};
const described = Object.keys(tools).map((name) => {
  const argument = { test_sampling: "prompt", test_elicitation: "message" }[name];
  const inputSchema = { type: "object", properties: argument ? { [argument]: STRING } : {}, ...(argument && { required: [argument] }) };
  return { name, description: `Does what the suite says of ${name}`, inputSchema };
});

const user = (content) => ({ role: "user", content });
const prompts = {
  test_simple_prompt: { get: () => [user(text("This is a simple prompt for testing."))] },
  test_prompt_with_arguments: {
    arguments: ["arg1", "arg2"],
    get: ({ arg1, arg2 }) => [user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))],
  },
  test_prompt_with_embedded_resource: {
    arguments: ["resourceUri"],
    get: ({ resourceUri }) => [
      user(embedded(resourceUri, "text/plain", "Embedded resource content for testing.")),
      user(text("Please process the embedded resource above.")),
    ],
  },
  test_prompt_with_image: { get: () => [user(image), user(text("Please analyze the image above."))] },
  test_input_required_result_prompt: {
    get: (_, params) => {
      const context = given(params, "user_context")?.content?.context;
      return context ? [user(text(`In this context: ${context}`))] : required({ user_context: elicit("What context should the prompt use?", { context: STRING }) });
    },
  },
};
const resources = {
  "test://static-text": { mimeType: "text/plain", text: "This is the content of the static text resource." },
  "test://static-binary": { mimeType: "image/png", blob: PIXEL },
  "test://watched-resource": { mimeType: "text/plain", text: "This one is watched." },
};
const read = (uri) => {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id) return { uri, mimeType: "application/json", text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) };
  if (!resources[uri]) throw new Refused(initialized ? -32002 : -32602, `Resource not found: ${uri}`, { uri });
  return { uri, ...resources[uri] };
};

// Streams of a client of 2026-07-28 that wants to hear of changes, by the id of its request.
const listening = new Map();
function changed(kind) {
  if (initialized) return list(kind);
  for (const [id, wanted] of listening)
    if (wanted[`${kind}ListChanged`]) write({ method: `notifications/${kind}/list_changed`, params: { _meta: { [`${META}subscriptionId`]: id } } });
}

const capabilities = {
  tools: { listChanged: true }, prompts: { listChanged: true }, resources: { subscribe: true, listChanged: true }, logging: {}, completions: {},
};
const serverInfo = { name: "conforming", version: "1.0.0" };
const methods = {
  initialize: (params) => {
    initialized = params.capabilities;
    return { protocolVersion: "2025-11-25", capabilities, serverInfo };
  },
  "server/discover": () => {
    if (process.env.REVISION === "2025-11-25") throw new Refused(-32601, "Method not found");
    return { supportedVersions: ["2026-07-28"], capabilities, _meta: { [`${META}serverInfo`]: serverInfo }, ttlMs: 0, cacheScope: "private" };
  },
  ping: () => ({}),
  "logging/setLevel": () => ({}),
  "completion/complete": () => ({ completion: { values: ["paris", "park"], total: 2, hasMore: false } }),
  "tools/list": () => ({ tools: described, ttlMs: 0, cacheScope: "private" }),
  "tools/call": async (params) => {
    const tool = tools[params.name];
    if (!tool) throw new Refused(-32602, `unknown tool: ${params.name}`);
    const result = await tool(params);
    return Array.isArray(result) ? { content: result } : result;
  },
  "resources/list": () => ({ resources: Object.keys(resources).map((uri) => ({ uri, name: uri.slice(7), description: `At ${uri}`, mimeType: resources[uri].mimeType })), ttlMs: 0, cacheScope: "private" }),
  "resources/templates/list": () => ({ resourceTemplates: [{ uriTemplate: "test://template/{id}/data", name: "template", description: "By id", mimeType: "application/json" }], ttlMs: 0, cacheScope: "private" }),
  "resources/read": ({ uri }) => ({ contents: [read(uri)], ttlMs: 0, cacheScope: "private" }),
  "resources/subscribe": () => ({}),
  "resources/unsubscribe": () => ({}),
  "prompts/list": () => ({
    prompts: Object.entries(prompts).map(([name, prompt]) => ({
      name, description: `The prompt ${name}`, arguments: (prompt.arguments ?? []).map((name) => ({ name, description: name, required: true })),
    })),
    ttlMs: 0, cacheScope: "private",
  }),
  "prompts/get": (params) => {
    const prompt = prompts[params.name];
    if (!prompt) throw new Refused(-32602, `unknown prompt: ${params.name}`);
    const result = prompt.get(params.arguments ?? {}, params);
    return Array.isArray(result) ? { messages: result } : result;
  },
};

async function answer({ id, method, params = {}, result, error }) {
  if (method === undefined) return waiting.get(id)?.({ result, error });
  if (method === "notifications/cancelled") return listening.delete(params.requestId);
  if (id === undefined) return;
  if (method === "subscriptions/listen" && !initialized) {
    listening.set(id, params.notifications ?? {});
    return write({ method: "notifications/subscriptions/acknowledged", params: { notifications: params.notifications, _meta: { [`${META}subscriptionId`]: id } } });
  }
  try {
    if (!methods[method]) throw new Refused(-32601, `Method not found: ${method}`);
    const result = await methods[method](params);
    write({ id, result: initialized ? result : { resultType: "complete", ...result } });
  } catch (error) {
    write({ id, error: { code: error.code ?? -32603, message: error.message, ...(error.data && { data: error.data }) } });
  }
}
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => answer(JSON.parse(line)));
