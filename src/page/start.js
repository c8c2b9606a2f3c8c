// A new session: where, what, in which mode.

import { call } from "./api.js";
import { h } from "./dom.js";
import { backBar, button, field, row } from "./parts.js";
import { folders, why } from "./state.js";
import { t } from "./words.js";

const MODES = ["default", "acceptEdits", "plan"];

export function startView() {
  const known = folders();
  const folder = h("input", { type: "text", required: true, list: "folders", autocomplete: "off", autocapitalize: "off", value: known[0] ?? "" });
  const prompt = h("textarea", { rows: "4", required: true });
  const label = h("input", { type: "text", maxlength: "64", autocapitalize: "off" });
  const mode = h("select", null, MODES.map((each) => h("option", { value: each }, `${each}: ${t(`mode_${each}`)}`)));
  const notice = h("p", { class: "notice", role: "status" });
  const start = async () => {
    notice.textContent = t("starting");
    try {
      const body = { folder: folder.value, prompt: prompt.value, mode: mode.value, ...(label.value && { label: label.value }) };
      const session = await call("POST", "/api/v1/sessions", body);
      location.hash = `#/session/${session.id}`;
    } catch (error) {
      notice.textContent = why(error);
    }
  };
  const element = h("section", { class: "form" },
    backBar(h("h1", null, t("start"))),
    field("folder", folder), h("datalist", { id: "folders" }, known.map((each) => h("option", { value: each }))),
    field("promptText", prompt), field("mode", mode), field("label", label), notice, row(button("start", "primary", start)));
  return { element, draw: () => {} };
}
