// What a tool would do, drawn from its input: the command, the diff, the address; else every field by name.

import { diff } from "./diff.js";
import { h } from "./dom.js";
import { exactly, hostsElsewhere, shown } from "./letters.js";
import { drawMcp } from "./mcp.js";
import { size, t } from "./words.js";

export const drawInput = (ask) => [whereItLeads(stringsIn(ask.input ?? ask.preview)), drawTool(ask)];

/** Says so where an address in these texts leads to another host than it shows. */
export function whereItLeads(texts) {
  const hosts = hostsElsewhere(texts);
  return hosts.length > 0 && h("p", { class: "warning leads" }, t("leadsTo", { hosts: hosts.slice(0, MOST_HOSTS).join(t("comma")) }));
}

/** Nobody reads more of them. */
const MOST_HOSTS = 5;
const stringsIn = (value) => (typeof value === "string" ? [value] : value && typeof value === "object" ? Object.values(value).flatMap(stringsIn) : []);

function drawTool(ask) {
  const input = ask.input;
  if (!input || typeof input !== "object") return code(ask.preview, exactly);
  const whole = JSON.stringify(input, null, 2);
  try {
    const known = Object.hasOwn(DRAWN, ask.tool) ? DRAWN[ask.tool](input, ask.replaces) : undefined;
    if (known) return [known.drawn, others(input, known.fields), rest(input)];
    if (ask.mcp && !Array.isArray(input)) return [drawMcp(ask.mcp, input, Object.keys(input).length > MOST_PARTS && code(whole, exactly)), rest(input)];
  } catch {
    // It is not as this tool's input is: it is shown as it is.
    return code(whole, exactly);
  }
  return ask.preview ? [code(ask.preview, exactly), rest(input)] : code(whole, exactly);
}

/** What is said of the call apart from this. */
const SAID = ["description"];

/** The fields that are not drawn yet: one of them may turn the meaning of the rest. What is off, or not there, turns nothing. */
function others(input, fields) {
  const left = Object.entries(input).filter(([name, value]) => ![...fields, ...SAID].includes(name) && value !== false && value !== null);
  if (left.length > MOST_PARTS) return code(Object.fromEntries(left));
  return left.length > 0 && h("dl", { class: "facts others given" }, left.map(([name, value]) => [h("dt", null, exactly(name)), h("dd", null, exactly(text(value)))]));
}

/** Edits of one call, and fields, that are drawn one by one; more are shown as one text. */
const MOST_PARTS = 50;
/** Lines of one box. What is behind them is counted, and takes a second step to be allowed. */
const MOST_LINES = 5000;

const edited = (edit) => lines(diff(text(edit.old_string), text(edit.new_string)));

/** What each tool would do, and the fields of its input by which that is drawn. */
const DRAWN = {
  Bash: (input) => ({ drawn: code(input.command, exactly), fields: ["command"] }),
  Edit: (input) => ({ drawn: [path(input.file_path), edited(input)], fields: ["file_path", "old_string", "new_string"] }),
  MultiEdit: (input) => ({
    drawn: [path(input.file_path), input.edits.length > MOST_PARTS ? code(input.edits) : input.edits.map((edit) => [edited(edit), others(edit, ["old_string", "new_string"])])],
    fields: ["file_path", "edits"],
  }),
  Write: (input, replaces) => ({
    drawn: [path(input.file_path), replaces && h("p", { class: "warning" }, inPlaceOf(replaces)), lines(diff(replaces?.text ?? "", text(input.content)), "code diff numbered")],
    fields: ["file_path", "content"],
  }),
  NotebookEdit: (input) => {
    const adds = input.edit_mode !== "delete";
    return { drawn: [path(input.notebook_path), adds && lines(diff("", text(input.new_source)))], fields: ["notebook_path", ...(adds ? ["new_source"] : [])] };
  },
  Read: (input) => ({ drawn: path(input.file_path), fields: ["file_path"] }),
  WebFetch: (input) => ({ drawn: path(input.url), fields: ["url"] }),
};

/** What is there now. Of a file that is too large, or may hold a secret, it is said that nothing of it is shown. */
function inPlaceOf({ size: bytes, lines: n, text: shownText }) {
  const about = n === undefined ? t("replacesBytes", { size: size(bytes) }) : t(n === 1 ? "replacesLine" : "replacesLines", { n });
  return shownText === undefined ? `${about} ${t("replacesUnseen")}` : about;
}

const text = (value) => (typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value, null, 2));
const path = (value) => h("p", { class: "path plain given" }, exactly(text(value)));

/** `data-left` says how many lines are not drawn. */
const box = (kind, drawn, left) => h("pre", { class: kind, tabindex: "0", "data-left": left > 0 && String(left) }, drawn);

export function code(value, spell = shown) {
  const whole = text(value).split("\n");
  return box("code", spell(whole.slice(0, MOST_LINES).join("\n")), whole.length - MOST_LINES);
}

/** Only where all of the file is written the numbers of its lines are known: an edit does not say where it is. */
function lines(changes, kind = "code diff") {
  const sign = { same: " ", old: "-", new: "+" };
  const drawn = changes.slice(0, MOST_LINES).map(([kind, line]) => h("span", { class: kind }, `${sign[kind]} ${shown(line)}\n`));
  return box(kind, drawn, changes.length - MOST_LINES);
}

/** Nothing of the input is kept from whoever decides. */
export function rest(input) {
  return h("details", null, h("summary", null, t("wholeInput")), code(JSON.stringify(input, null, 2), exactly));
}
