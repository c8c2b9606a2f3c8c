// One item of a conversation: what people and programs sent, what the agent said, and what it did.

import { download } from "./api.js";
import { h, moment } from "./dom.js";
import { code, drawInput } from "./input.js";
import { exactly, shown } from "./letters.js";
import { markdown } from "./markdown.js";
import { mcpNamed } from "./mcp.js";
import { isPicture, picture } from "./pictures.js";
import { askOf, why } from "./state.js";
import { currentLanguage, locale, size, t } from "./words.js";

/** What an item looks like depends on these alone. */
export const revision = (item) => [item.state, item.directs, item.edited_at, item.text?.length, item.kind === "call" && [callState(item), Boolean(editOf(item))], currentLanguage()].join();

export function drawItem(item, before) {
  const drawn = DRAWN[item.kind](item, before);
  if (item.agent) drawn.classList.add("sub");
  return drawn;
}

/** From someone who may not direct the session. Of one whose text is not here yet nobody has told. */
const isOutside = ({ directs }) => directs === false;

const DRAWN = {
  event: (item) => h("li", { class: isOutside(item) ? "event outside" : "event" },
    who([h("strong", null, shown(item.sender)), isOutside(item) && [" ", h("span", { class: "badge" }, t("informs"))]], item, item.redelivered && t("redelivered"), item.state && t(`event_${item.state}`)),
    item.text === undefined ? h("p", { class: "hint" }, "…") : long(item.text),
    files(item.files, `/api/v1/events/${item.id}/files`)),
  reply: (item) => h("li", { class: "reply" },
    who(h("strong", null, t("replied")), item, item.edited_at && t("edited")),
    markdown(item.text ?? ""), files(item.files, `/api/v1/replies/${item.id}/files`)),
  user: (item) => h("li", { class: "event user" }, who(h("strong", null, teller(item.by)), item), long(item.text)),
  text: (item) => h("li", { class: "text" }, markdown(item.text)),
  call: drawCall,
  turn: (item) => h("li", { class: item.ended === "failed" ? "aside bad" : "aside" }, t(item.ended === "interrupted" ? "turnInterrupted" : "turnFailed", { why: shown(item.why ?? "") })),
  notice: (item) => h("li", { class: "aside" }, shown(item.text)),
};

/** Letters of a message that are drawn; the rest when someone wants to see it. */
const DRAWN_AT_ONCE = 10_000;

function long(text) {
  if (text.length <= DRAWN_AT_ONCE) return h("p", { class: "plain" }, shown(text));
  const words = h("p", { class: "plain" }, `${shown(text.slice(0, DRAWN_AT_ONCE))} …`);
  const all = h("button", { type: "button", class: "quiet", "data-action": "showAll", onclick: () => ((words.textContent = shown(text)), all.remove()) }, t("showAll"));
  return h("div", null, words, all);
}

function who(name, item, ...more) {
  const notes = more.filter(Boolean).map((note) => ` · ${note}`);
  return h("div", { class: "who small" }, name, " ", moment(item.at, locale()), notes);
}

/** Who told it something. A transcript does not say who typed. */
const teller = (by) => (!by ? t("theUser") : by === "terminal" ? t("atTerminal") : shown(by));

/** What the agent is told of a call that somebody kept from running. */
const REFUSED = /^(?:A person denied this|\S{1,100} has stopped this session from outside|\w{1,40}:\S{1,100} hook error: |Permission to use )|The user doesn't want to proceed|denied by the (?:user|project|session|command line) rule/;
/** As much of a result says whether it is a refusal: a failed command may have printed anything, and much of it. */
const ITS_BEGINNING = 600;

/** What it is told of one that a person kept from running, and in the same words of one that they interrupted as it ran. */
const REJECTED = "The user doesn't want to proceed";

const isRefusal = (text) => REFUSED.test(text.slice(0, ITS_BEGINNING).replace(/^\W+/, ""));

/** An agent makes its calls one after the other: those behind one that waits for an answer do not run yet. */
export function noteOrder(items) {
  const waiting = new Set();
  for (const item of items.filter(({ kind }) => kind === "call")) {
    item.isBehind = waiting.has(item.agent);
    if (!item.result && askOf(item.call)?.state === "open") waiting.add(item.agent);
  }
}

/** What became of a call: one that was refused has not failed, and one that is asked for does not run. */
function callState({ call, result, isBehind }) {
  const ask = askOf(call);
  if (ask?.verdict?.behavior === "deny") return ask.kind === "plan" ? "sentBack" : "denied";
  if (!result) return ask?.state === "open" ? "waiting" : isBehind && !ask ? "queued" : "running";
  if (!result.failed) return "done";
  if (!isRefusal(result.text)) return "failed";
  // One that somebody denied is known by its prompt.
  return result.text.startsWith(REJECTED) && ask?.state !== "withdrawn" ? "interrupted" : "denied";
}

/** What someone let run instead of what the agent wanted, and who. */
function editOf({ call }) {
  const ask = askOf(call);
  const { input, by, behavior } = ask?.verdict ?? {};
  // Of a question these are the answers, which the agent gave no input for.
  return ask?.kind === "tool" && behavior === "allow" && input && typeof input === "object" ? { input, by } : undefined;
}

/** A tool call: one line, with what it was given and what came of it inside. */
function drawCall(item, before) {
  // What is too long comes as the beginning of its text.
  const edit = editOf(item);
  const isText = !edit && typeof item.input === "string";
  const input = edit?.input ?? (isText ? { command: item.input } : item.input ?? {});
  const main = input.command ?? input.file_path ?? input.notebook_path ?? input.path ?? input.url ?? input.pattern ?? input.questions?.[0]?.question ?? input.description ?? "";
  const state = callState(item);
  const body = h("div");
  const draw = () => {
    if (body.firstChild) return;
    body.append(...[drawInput({ tool: item.tool, mcp: mcpNamed(item.tool), input: isText ? undefined : input, preview: isText ? item.input : "" })].flat(Infinity).filter(Boolean));
    if (edit) body.append(h("details", { class: "before" }, h("summary", null, t("asWritten")), code(item.input)));
    if (item.result) body.append(h("p", { class: "small" }, t(state === "failed" ? "callFailed" : "callResult")), code(item.result.text.replace(/\r\n?/g, "\n")));
    if (item.cut || item.result?.cut) body.append(h("p", { class: "hint small" }, t("cut")));
  };
  const details = h("details", { class: `call ${state}`, ontoggle: () => details.open && draw() },
    h("summary", null, h("span", { class: "tool" }, exactly(item.tool)), " ", h("span", { class: "main" }, exactly(String(main).slice(0, 300))),
      edit && h("span", { class: "badge edited" }, t("editedBy", { by: shown(edit.by) })),
      h("span", { class: "badge" }, t(`call_${state}`))),
    body);
  // One that someone has opened stays open when its result comes.
  if (before?.querySelector("details")?.open) {
    details.open = true;
    draw();
  }
  return h("li", { class: "done" }, details);
}

function files(list, path) {
  return (list ?? []).map((file, number) => {
    const name = file.name ?? file.path ?? "";
    const notice = h("small", { role: "status" });
    const fetchIt = () => download(`${path}/${number}`, name.split("/").at(-1)).catch((error) => (notice.textContent = why(error)));
    const bytes = file.bytes ?? file.size ?? 0;
    return h("div", { class: "file" }, isPicture(name, bytes) && picture(`${path}/${number}`, name.split("/").at(-1)), h("button", { type: "button", class: "quiet", onclick: fetchIt, "data-action": "download", title: shown(name) }, `↓ ${shown(name.split("/").at(-1))}`),
      h("small", null, ` ${size(bytes)} `), notice);
  });
}
