// A new session: where, what, in which mode.

import { call } from "./api.js";
import { h, shown } from "./dom.js";
import { button, row } from "./prompts.js";
import { state } from "./state.js";
import { t } from "./words.js";

const MODES = ["default", "acceptEdits", "plan"];

export function startView() {
  const folders = [...new Set([...state.sessions.values()].map((session) => session.folder).filter(Boolean))];
  const folder = h("input", { type: "text", required: true, list: "folders", autocomplete: "off", autocapitalize: "off", value: folders[0] ?? "" });
  const prompt = h("textarea", { rows: "4", required: true });
  const label = h("input", { type: "text", maxlength: "64", autocapitalize: "off" });
  const mode = h("select", null, MODES.map((each) => h("option", { value: each }, `${each}: ${t(`mode_${each}`)}`)));
  const notice = h("p", { class: "notice", role: "status" });
  const field = (name, control) => h("label", { class: "field" }, t(name), control);
  const start = async () => {
    notice.textContent = t("starting");
    try {
      const body = { folder: folder.value, prompt: prompt.value, mode: mode.value, ...(label.value && { label: label.value }) };
      const session = await call("POST", "/api/v1/sessions", body);
      location.hash = `#/session/${session.id}`;
    } catch (error) {
      notice.textContent = t("failed", { why: [shown(error.message), error.hint].filter(Boolean).join(" ") });
    }
  };
  const element = h("section", { class: "form" },
    h("div", { class: "bar" }, h("a", { href: "#/", class: "button quiet", "aria-label": t("back") }, "‹"), h("h1", null, t("start"))),
    field("folder", folder), h("datalist", { id: "folders" }, folders.map((each) => h("option", { value: each }))),
    field("promptText", prompt), field("mode", mode), field("label", label), notice, row(button("start", "primary", start)));
  return { element, draw: () => {} };
}
