// A call of an MCP tool: its server, its tool and its arguments. A form in which what any tool is given can be changed.

import { parse } from "./api.js";
import { h } from "./dom.js";
import { exactly, shown } from "./letters.js";
import { t } from "./words.js";

/** What a name such as `mcp__db__query` says, where nothing else is known of a call. */
export function mcpNamed(name) {
  const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(name) ?? [];
  return tool && { server, tool };
}

/** What would be called, and each argument by its name, or all of them as one text. */
export function drawMcp({ server, tool, title }, input, asOne) {
  const rows = Object.entries(input);
  const list = () => h("dl", { class: "arguments given", "aria-label": t("arguments") }, rows.map(([name, value]) => [h("dt", null, exactly(name)), h("dd", null, drawn(value))]));
  return h("div", { class: "mcp" },
    h("dl", { class: "facts" }, h("dt", null, t("mcpServer")), h("dd", null, h("code", null, exactly(server))), h("dt", null, t("tool")), h("dd", null, h("code", null, exactly(tool)), title && ` ${shown(title)}`)),
    asOne || (rows.length > 0 ? list() : h("p", { class: "hint" }, t("noArguments"))));
}

const written = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

/** A text as it is; what is no text as JSON, so that nobody takes `"5"` for `5`. */
function drawn(value) {
  const text = exactly(written(value));
  if (typeof value !== "string") return h("pre", { class: "code", tabindex: "0" }, text);
  return text.includes("\n") ? h("pre", { class: "code", tabindex: "0" }, text) : h("span", { class: "value" }, text || "\u2205");
}

/** The argument with this name is no JSON. */
export class BadField extends Error {}

/** Fields in which each argument can be changed. `read()` gives the input that they make, or throws where one is no JSON. */
export function argumentForm(input, oninput) {
  const fields = Object.entries(input).map(([name, value]) => {
    const text = written(value);
    const control = h("textarea", { rows: String(Math.min(8, text.split("\n").length)), class: "code", spellcheck: "false", autocapitalize: "off", value: text, oninput });
    // A browser knows one kind of line end. What nobody has changed stays as it is.
    const before = control.value;
    const changed = () => (value.includes("\r\n") ? control.value.replaceAll("\n", "\r\n") : control.value);
    const label = h("label", { class: "field" }, h("span", null, shown(name)), control);
    const read = () => {
      try {
        if (control.value === before) return value;
        return typeof value === "string" ? changed() : parse(control.value);
      } catch {
        throw new BadField(name);
      }
    };
    return { name, label, read };
  });
  const element = h("div", { class: "form" }, fields.map(({ label }) => label));
  return { element, read: () => Object.fromEntries(fields.map(({ name, read }) => [name, read()])) };
}
