// What a tool would do, drawn from its input: the command, the diff, the address; else every field by name.

import { diff } from "./diff.js";
import { h, shown } from "./dom.js";
import { t } from "./words.js";

export function drawInput(ask) {
  const input = ask.input;
  if (!input || typeof input !== "object") return code(ask.preview);
  const known = DRAWN[ask.tool];
  if (!known && !ask.preview) return code(JSON.stringify(input, null, 2));
  return [known ? known(input) : code(ask.preview), rest(input)];
}

const DRAWN = {
  Bash: (input) => code(input.command),
  Edit: (input) => [path(input.file_path), lines(diff(text(input.old_string), text(input.new_string)))],
  MultiEdit: (input) => [
    path(input.file_path),
    (input.edits ?? []).map((edit) => lines(diff(text(edit.old_string), text(edit.new_string)))),
  ],
  Write: (input) => [path(input.file_path), lines(text(input.content).split("\n").map((line) => ["new", line]))],
  NotebookEdit: (input) => [path(input.notebook_path), lines(diff("", text(input.new_source)))],
  Read: (input) => path(input.file_path),
  WebFetch: (input) => [path(input.url), input.prompt && h("p", null, shown(input.prompt))],
};

const text = (value) => (typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value));
const path = (value) => h("p", { class: "path" }, shown(text(value)));
export const code = (value) => h("pre", { class: "code", tabindex: "0" }, shown(text(value)));

function lines(changes) {
  const sign = { same: " ", old: "-", new: "+" };
  const drawn = changes.map(([kind, line]) => h("span", { class: kind }, `${sign[kind]} ${shown(line)}\n`));
  return h("pre", { class: "code diff", tabindex: "0" }, drawn);
}

/** Nothing of the input is kept from whoever decides. */
function rest(input) {
  return h("details", null, h("summary", null, t("wholeInput")), code(JSON.stringify(input, null, 2)));
}
