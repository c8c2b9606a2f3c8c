// A new session: where, what, in which mode; or a conversation that goes on, also one that began in a terminal.

import { call } from "./api.js";
import { h, moment } from "./dom.js";
import { shown } from "./letters.js";
import { defaultMode, modeInWords, offeredModes } from "./modes.js";
import { backBar, button, field, row } from "./parts.js";
import { folders, state, why } from "./state.js";
import { locale, t } from "./words.js";

/** What was written here and not started, also after someone has looked elsewhere. */
let draft = {};

/** Nobody writes down what cannot be started. */
const nowhere = () => ({
  element: h("section", { class: "form" }, backBar(h("h1", null, t("start"))),
    h("div", { class: "empty" }, h("p", { class: "warning" }, t("noFolders")), h("pre", { class: "code" }, '[start]\nfolders = ["~/code"]'), h("p", { class: "hint" }, t("noFoldersHow")))),
  draw: () => {},
});

export function startView() {
  if (!state.me?.folders?.length) return nowhere();
  const known = folders();
  const folder = h("input", { type: "text", required: true, list: "folders", autocomplete: "off", autocapitalize: "off", value: draft.folder ?? known[0] ?? "" });
  const prompt = h("textarea", { rows: "4", required: true, value: draft.prompt ?? "" });
  const label = h("input", { type: "text", maxlength: "64", autocapitalize: "off" });
  const usual = h("option", { value: "" }, t("asUsual"));
  const mode = h("select", null, usual, offeredModes().map((each) => h("option", { value: each }, modeInWords(each))));
  const defaults = defaultMode((found) => {
    usual.textContent = t("usualMode", { mode: found.mode });
    usual.dataset.mode = found.mode;
    explain();
  });
  // A menu cuts off what it has no room for.
  const meaning = h("p", { class: "hint small", id: "mode-meaning" });
  const explain = () => {
    const chosen = mode.value || usual.dataset.mode;
    meaning.textContent = chosen ? t(`mode_${chosen}`) : "";
  };
  mode.setAttribute("aria-describedby", meaning.id);
  mode.addEventListener("change", explain);
  folder.addEventListener("change", () => defaults.of(folder.value));
  if (folder.value) defaults.of(folder.value);
  const notice = h("p", { class: "notice", role: "status" });
  const start = async (body) => {
    if (body.mode === "bypassPermissions" && !confirm(t("reallyBypass"))) return;
    notice.textContent = t("starting");
    notice.classList.remove("warning");
    try {
      const session = await call("POST", "/api/v1/sessions", body);
      draft = {};
      location.hash = `#/session/${session.id}`;
    } catch (error) {
      complain(why(error));
    }
  };
  const complain = (words) => {
    notice.textContent = words;
    notice.classList.add("warning");
  };
  const nothingToDo = () => {
    complain(t("sayWhat"));
    prompt.focus();
    return true;
  };
  const earlier = conversations((one) => start({ folder: one.folder, resume: one.id, ...(mode.value && { mode: mode.value }), ...(prompt.value && { prompt: prompt.value }) }));
  const element = h("section", { class: "form", oninput: () => (draft = { folder: folder.value, prompt: prompt.value }) },
    backBar(h("h1", null, t("start"))),
    field("folder", folder), h("datalist", { id: "folders" }, known.map((each) => h("option", { value: each }))),
    field("promptText", prompt), field("mode", mode), meaning, h("details", null, h("summary", null, t("defaultMode")), defaults.element), field("label", label), notice,
    row(button("start", "primary", () => (prompt.value.trim() ? undefined : nothingToDo()) ?? start({ folder: folder.value, prompt: prompt.value, ...(mode.value && { mode: mode.value }), ...(label.value && { label: label.value }) }))),
    earlier.element);
  return { element, draw: earlier.draw };
}

/** How long after its last word a conversation may well be open in a terminal, in milliseconds. */
const RECENT = 10 * 60_000;

/** Two programs that go on with one conversation do not see each other. */
const isPerhapsOpen = (one) => Date.now() - one.at < RECENT && ![...state.sessions.values()].some((session) => session.agent_session === one.id);

/** Those that ended, newest first. One that a session has open is gone to instead. */
function conversations(goOn) {
  const place = h("div", null, h("p", { class: "hint" }, t("loading")));
  const item = (one) => h("li", { class: "card" },
    h("strong", null, shown(one.title || one.id)),
    h("p", { class: "path" }, shown(one.folder), " · ", moment(one.at, locale())),
    row(one.session ? h("a", { class: "button quiet", href: `#/session/${one.session}` }, t("goThere")) : button("continue", "quiet", () => (isPerhapsOpen(one) && !confirm(t("perhapsOpen")) ? undefined : goOn(one)))));
  let [isSettled, isAsked] = [false, false];
  const load = async () => {
    isAsked = true;
    try {
      const found = await call("GET", "/api/v1/conversations");
      isSettled = true;
      place.replaceChildren(h("h2", null, t("orContinue")), found.length ? h("ul", { class: "conversations" }, found.map(item)) : h("p", { class: "hint" }, t("noConversations")));
    } catch (error) {
      // A gate that is away is said once, above; the list comes when it is back.
      isSettled = !(error instanceof TypeError);
      place.replaceChildren(isSettled ? h("p", { class: "hint" }, why(error)) : "");
    }
    isAsked = false;
  };
  load();
  return { element: place, draw: () => state.connection === "open" && !isSettled && !isAsked && load() };
}
