// The log, newest first, with a filter over what is loaded.

import { call } from "./api.js";
import { h, moment, shown } from "./dom.js";
import { button } from "./prompts.js";
import { currentLanguage, t } from "./words.js";

const PAGE = 200;

export function logView() {
  const list = h("ol", { class: "log" });
  const filter = h("input", { type: "search", "aria-label": t("search"), placeholder: t("search"), oninput: () => draw() });
  const notice = h("p", { class: "notice", role: "status" });
  let lines = [];
  const load = async (before) => {
    try {
      const first = before === undefined ? `last=${PAGE}` : `after=${Math.max(before - PAGE - 1, 0)}&limit=${PAGE}`;
      const page = await call("GET", `/api/v1/log?${first}`);
      const known = new Set(lines.map((line) => line.seq));
      lines = [...page.filter((line) => !known.has(line.seq)), ...lines].sort((a, b) => a.seq - b.seq);
      draw();
    } catch (error) {
      notice.textContent = error.status === 403 ? t("noLog") : t("failed", { why: shown(error.message) });
    }
  };
  const older = button("older", "quiet", () => load(lines[0]?.seq));
  const element = h("section", null, h("div", { class: "bar" }, h("h1", null, t("log")), filter), notice, list, older);
  function draw() {
    const wanted = filter.value.toLowerCase();
    const fits = (line) => !wanted || JSON.stringify(line).toLowerCase().includes(wanted);
    const found = lines.filter(fits).reverse();
    list.replaceChildren(...found.map(entry));
    if (lines.length && !found.length) notice.textContent = t("nothingFound");
    else if (lines.length) notice.textContent = "";
    older.hidden = !(lines[0]?.seq > 1);
  }
  load();
  return { element, draw: () => {} };
}

function entry(line) {
  const [kind] = Object.keys(line.record ?? {});
  return h("li", null,
    h("span", { class: "small" }, `${line.seq} `, moment(line.at, currentLanguage())), " ",
    h("strong", null, shown(line.sentence ?? kind ?? "")), " ", h("span", { class: "path" }, shown(line.subject)),
    line.payload && h("p", { class: "plain" }, shown(line.payload.slice(0, 400))), line.erased && h("p", { class: "hint" }, t("erased")));
}
