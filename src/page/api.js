// The gate's API: the key of this device, requests, and the stream of changes.

const KEY = "portcullis.device";

export const key = {
  get: () => localStorage.getItem(KEY),
  set: (value) => localStorage.setItem(KEY, value),
  forget: () => localStorage.removeItem(KEY),
};

/** What the gate refused, in its own words. */
export class Refused extends Error {
  constructor(status, message, hint, number) {
    super(message);
    this.status = status;
    this.hint = hint;
    this.number = number;
  }
}

const headers = (more) => (key.get() ? { ...more, Authorization: `Bearer ${key.get()}` } : { ...more });

export async function call(method, path, body, { signal, keepalive, idempotencyKey } = {}) {
  const said = { Accept: "application/json", ...(idempotencyKey && { "Idempotency-Key": idempotencyKey }) };
  const request = { method, headers: headers(said), signal, keepalive, cache: "no-store" };
  if (body !== undefined) {
    request.headers["Content-Type"] = "application/json";
    request.body = JSON.stringify(body);
  }
  return answerOf(await fetch(path, request));
}

/** Numbers that this language cannot hold stay as they were written: what a tool is given is shown, and sent back, as it is. */
const exactly = (_, value, context) => (typeof value === "number" && context && String(value) !== context.source ? JSON.rawJSON(context.source) : value);
export const parse = (text) => JSON.parse(text, JSON.rawJSON && exactly);

/** The gate itself says that the key does not count. A proxy before it may want to be logged in to, which is another thing. */
export const isUnlinked = (error) => error instanceof Refused && error.status === 401 && Number.isInteger(error.number);

async function answerOf(response) {
  const text = await response.text();
  const answer = text && response.headers.get("Content-Type")?.startsWith("application/json") ? parse(text) : text;
  if (!response.ok) {
    // A proxy on the way answers with a page of its own, which is nothing to read here.
    const isPage = typeof answer === "string" && /^\s*</.test(answer);
    throw new Refused(response.status, answer?.message ?? String((!isPage && answer) || `${response.status} ${response.statusText}`), answer?.hint, answer?.error);
  }
  return answer;
}

/** The gate says something every five seconds. One that is silent for so long, in milliseconds, hangs or is out of reach. */
const SILENT = 12_000;

/** A stream that will not come back: the key is refused, or there is no such stream. */
const FINAL = [400, 401, 403, 404];

/**
 * What the gate streams at the path that `path()` names, for as long as `signal` lasts. Calls `tell(message)` for each and
 * `isOpen(false)` whenever the gate is away; comes back by itself. (An EventSource cannot send a header.)
 */
export async function follow(path, tell, isOpen, signal, final = FINAL) {
  for (let failures = 0; !signal.aborted; failures += 1) {
    const attempt = new AbortController();
    let silence;
    const heard = () => {
      clearTimeout(silence);
      silence = setTimeout(() => attempt.abort(), SILENT);
    };
    heard();
    try {
      const response = await fetch(path(), { headers: headers(), signal: AbortSignal.any([signal, attempt.signal]), cache: "no-store" });
      if (final.includes(response.status)) await answerOf(response).catch((error) => {
        if (response.status !== 401 || isUnlinked(error)) throw error;
      });
      if (response.ok) {
        failures = 0;
        tell({ restart: true });
        await lines(response.body, (line) => line.startsWith("data: ") && tell(parse(line.slice(6))), () => isOpen(true), heard);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refused) throw error;
    } finally {
      clearTimeout(silence);
      // What is left unread would keep its connection.
      attempt.abort();
    }
    isOpen(false);
    await pause(Math.min(500 * 2 ** failures, 8000), signal);
  }
}

/** Sends a file; the gate keeps it for an hour, until an event names it. */
export async function upload(file) {
  const type = { "Content-Type": file.type || "application/octet-stream", Accept: "application/json" };
  return answerOf(await fetch(`/api/v1/files?name=${encodeURIComponent(file.name)}`, { method: "POST", headers: headers(type), body: file }));
}

/** A file of a message: a plain link could not send the key. */
export async function fetchFile(path) {
  const response = await fetch(path, { headers: headers(), cache: "no-store" });
  return response.ok ? response.blob() : answerOf(response);
}

/** Fetches a file and hands it to the browser as a download. */
export async function download(path, name) {
  const address = URL.createObjectURL(await fetchFile(path));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** How long lines are read, in milliseconds, before whoever scrolls or types has a turn. */
const READS_FOR = 8;

async function lines(body, line, begun, heard) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let since = performance.now();
  for (let first = true; ; first = false) {
    const { value, done } = await reader.read();
    if (done) return;
    heard();
    if (first) begun();
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    for (const part of parts) {
      line(part);
      if (performance.now() - since < READS_FOR) continue;
      await new Promise((resolve) => setTimeout(resolve));
      since = performance.now();
    }
  }
}

function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const over = new AbortController();
    const done = () => (clearTimeout(timer), over.abort(), resolve());
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener("abort", done, { once: true, signal: over.signal });
    window.addEventListener("online", done, { once: true, signal: over.signal });
  });
}
