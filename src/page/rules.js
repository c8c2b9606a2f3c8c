// The rules of a folder, and a box that says what would become of a call there.

import { call } from "./api.js";
import { h, marked } from "./dom.js";
import { shown } from "./letters.js";
import { defaultMode, modeInWords } from "./modes.js";
import { button, field, row } from "./parts.js";
import { MODES, folders, why } from "./state.js";
import { phrase, t } from "./words.js";

const TOOLS = ["Bash", "Read", "Edit", "Write", "WebFetch"];

export function rulesView() {
  const known = folders();
  const folder = h("input", { type: "text", list: "folders", autocomplete: "off", autocapitalize: "off", value: known[0] ?? "" });
  const tool = h("select", null, TOOLS.map((each) => h("option", { value: each }, each)));
  const input = h("textarea", { rows: "2", class: "code", spellcheck: "false", autocapitalize: "off" });
  const mode = h("select", null, MODES.map((each) => h("option", { value: each }, modeInWords(each))));
  const result = h("div", { role: "status" });
  const list = h("div");
  /** An answer belongs to the fields as they were when it was asked for. */
  let asked;
  const forget = () => ((asked = undefined), result.replaceChildren());
  const check = async () => {
    const body = { folder: folder.value, tool: tool.value, input: input.value, mode: mode.value };
    asked = body;
    const answer = await call("POST", "/api/v1/rules/check", body).then(verdict).catch((error) => h("p", { class: "warning" }, why(error)));
    if (asked === body) result.replaceChildren(answer);
  };
  const defaults = defaultMode();
  const load = async () => {
    defaults.of(folder.value);
    try {
      const rules = await call("GET", `/api/v1/rules?folder=${encodeURIComponent(folder.value)}`);
      list.replaceChildren(...files(rules));
    } catch (error) {
      list.replaceChildren(h("p", { class: "warning" }, why(error)));
    }
  };
  folder.addEventListener("change", load);
  for (const control of [folder, tool, mode, input]) control.addEventListener("input", forget);
  input.addEventListener("keydown", (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && check());
  if (folder.value) load();
  const element = h("section", { class: "form" },
    h("h1", null, t("rules")),
    field("folder", folder), h("datalist", { id: "folders" }, known.map((each) => h("option", { value: each }))),
    h("h2", null, t("whatWould")),
    h("div", { class: "card" },
      h("div", { class: "columns" }, field("tool", tool), field("mode", mode)),
      field("callInput", input), row(button("checkCall", "primary", check)), result),
    h("h2", null, t("defaultMode")), h("div", { class: "card" }, defaults.element),
    h("h2", null, t("rulesHere")), list);
  return { element, draw: () => {}, refresh: () => folder.value && load() };
}

function verdict(ruling) {
  const decision = (name) => h("span", { class: `badge decision ${name}` }, t(`decision_${name}`));
  return h("div", { class: "ruling" },
    ruling.left_to_client
      ? h("p", null, h("span", { class: "badge decision" }, t("leftToClient")), " ", t("leftToClientHow"))
      : h("p", null, decision(ruling.decision), " ", marked(shown(phrase(ruling.why)))),
    ruling.rule && h("p", { class: "path" }, shown(ruling.rule), ruling.place && ` · ${shown(ruling.place)}`),
    h("p", { class: "small" }, t(`risk_${ruling.risk.level}`), ruling.risk.reasons.length > 0 && t("inBrackets", { what: ruling.risk.reasons.map(phrase).join(t("comma")) }),
      ruling.quorum > 1 && ` · ${t("quorum", { n: ruling.quorum })}`),
    ruling.if_trusted && h("p", { class: "small warning" }, t("ifTrusted"), " ", decision(ruling.if_trusted.decision)),
    h("p", { class: "small" }, t(ruling.not_looked_at?.length ? "notLookedAt" : "lookedAt")));
}

function files(rules) {
  if (rules.length === 0) return [h("div", { class: "empty" }, h("p", null, t("noRules")), h("p", { class: "hint" }, t("noRulesHow")))];
  const by = new Map();
  for (const rule of rules) by.set(rule.file, [...(by.get(rule.file) ?? []), rule]);
  return [...[...by].map(([file, of]) => h("div", null,
    h("p", { class: "path" }, shown(file)),
    h("ul", { class: "rules" }, of.map((rule) => h("li", { class: rule.counts ? undefined : "off" },
      h("span", { class: `badge decision ${rule.decision}` }, t(`decision_${rule.decision}`)), " ",
      h("code", null, shown(rule.rule)),
      rule.session && h("small", null, ` ${t("onlySessions", { label: shown(rule.session) })}`),
      rule.quorum && h("small", null, ` ${t("quorum", { n: rule.quorum })}`),
      rule.why && h("small", null, ` ${shown(rule.why)}`),
      !rule.counts && h("small", { class: "warning" }, ` ${rule.warning ? shown(rule.warning) : t("notTrusted")}`)))))), h("p", { class: "hint small" }, t("rulesHow"))];
}
