// The box in which someone writes to a session, with files to go along, and when it will be read.

import { call, upload } from "./api.js";
import { h, shown } from "./dom.js";
import { button, row } from "./parts.js";
import { size } from "./said.js";
import { standing, state, why } from "./state.js";
import { t } from "./words.js";

const MOST_FILES = 10;
const MOST_BYTES = 20 << 20;
/** What was typed and not sent, by session: it is there again when someone comes back. */
const drafts = new Map();

export function composer(id, notice) {
  const text = h("textarea", { rows: "2", "aria-label": t("talk"), placeholder: t("talk"), maxlength: "900000", value: drafts.get(id) ?? "" });
  const when = h("small", { class: "hint" });
  const chips = h("ul", { class: "chips" });
  const picker = h("input", { type: "file", multiple: true, hidden: true, onchange: () => (add(picker.files), (picker.value = "")) });
  let files = [];

  const add = (more) => {
    for (const file of more) {
      if (files.length >= MOST_FILES) notice.textContent = t("tooManyFiles", { n: MOST_FILES });
      else if (file.size > MOST_BYTES) notice.textContent = t("tooLarge", { name: shown(file.name), most: size(MOST_BYTES) });
      else files.push(file);
    }
    drawChips();
  };
  const drawChips = () => {
    chips.replaceChildren(...files.map((file) => h("li", null, shown(file.name), h("small", null, ` ${size(file.size)}`),
      h("button", { type: "button", class: "quiet", "aria-label": t("takeAway", { name: file.name }), onclick: () => ((files = files.filter((other) => other !== file)), drawChips()) }, "×"))));
  };
  const send = async () => {
    const message = text.value.trim();
    if (!message && files.length === 0) return;
    sending.disabled = true;
    notice.textContent = files.length ? t("uploading") : "";
    try {
      const ids = [];
      for (const file of files) ids.push((await upload(file)).id);
      await call("POST", "/api/v1/events", { text: message, session: id, ...(ids.length && { files: ids }) });
      text.value = "";
      files = [];
      drafts.delete(id);
      drawChips();
      notice.textContent = "";
    } catch (error) {
      notice.textContent = why(error);
    }
    sending.disabled = false;
    text.focus();
  };
  const sending = button("send", "primary", send);
  text.addEventListener("input", () => drafts.set(id, text.value));
  text.addEventListener("keydown", (event) => event.key === "Enter" && (event.metaKey || event.ctrlKey) && send());
  text.addEventListener("paste", (event) => event.clipboardData?.files.length && add(event.clipboardData.files));
  const element = h("div", { class: "composer" }, chips, text, row(when, picker, button("attach", "quiet", () => picker.click()), sending));
  element.addEventListener("dragover", (event) => event.preventDefault());
  element.addEventListener("drop", (event) => (event.preventDefault(), add(event.dataTransfer.files)));
  const draw = () => {
    const session = state.sessions.get(id);
    const reads = { working: "readNext", waiting: "readNext", paused: "readNext", ended: "readEnded", away: "readLater" };
    when.textContent = session ? t(reads[standing(session)] ?? "readNow") : "";
  };
  return { element, draw };
}
