// One session: what was said, what it is told, and what it does.

import { call } from "./api.js";
import { h, keep, moment, shown } from "./dom.js";
import { markdown } from "./markdown.js";
import { isMuted, setMuted } from "./notify.js";
import { backBar, button, row } from "./parts.js";
import { drawPrompts } from "./prompts.js";
import { MODES, addSaid, changed, may, standing, state, why } from "./state.js";
import { currentLanguage, t } from "./words.js";

export function sessionView(id) {
  const prompts = h("div", { class: "prompts" });
  const said = h("ol", { class: "said", "aria-live": "polite" });
  const head = h("div");
  const notice = h("p", { class: "notice", role: "status" });
  const text = h("textarea", { rows: "2", "aria-label": t("talk"), placeholder: t("talk"), maxlength: "900000" });
  const when = h("small", { class: "hint" });
  const send = async () => {
    const message = text.value.trim();
    if (!message) return;
    try {
      await call("POST", "/api/v1/events", { text: message, session: id });
      text.value = "";
      notice.textContent = "";
    } catch (error) {
      notice.textContent = why(error);
    }
  };
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) send();
  });
  const element = h("section", { class: "conversation" }, head, prompts, said, notice,
    may("talk") && h("div", { class: "composer" }, text, row(when, button("send", "primary", send))));
  fetchTexts(id);
  const draw = () => {
    const session = state.sessions.get(id);
    keep(head, [["head", JSON.stringify([session, session && standing(session), currentLanguage()]), () => header(session, notice)]]);
    drawPrompts(prompts, id);
    const items = [...(state.said.get(id)?.values() ?? [])].sort((a, b) => a.at - b.at);
    const wasAtEnd = said.scrollTop + said.clientHeight >= said.scrollHeight - 40;
    const drawn = items.map((item) => [item.id, [item.state, item.edited_at, item.text?.length, currentLanguage()].join(), () => message(item)]);
    keep(said, drawn.length ? drawn : [["nothing", currentLanguage(), () => h("li", { class: "hint" }, t("nothingSaid"))]]);
    if (wasAtEnd) said.scrollTop = said.scrollHeight;
    when.textContent = session ? t({ working: "readNext", waiting: "readNext", ended: "readEnded", away: "readLater" }[standing(session)] ?? "readNow") : "";
  };
  return { element, draw };
}

function header(session, notice) {
  if (!session) return backBar(h("h1", null, t("unknownSession")));
  const what = standing(session);
  const tell = (order, body) => async () => {
    try {
      await call("POST", `/api/v1/sessions/${session.id}/${order}?wait=10`, body);
    } catch (error) {
      notice.textContent = why(error);
    }
  };
  const lives = what !== "ended";
  const drives = lives && session.driven && may("start");
  const end = () => confirm(t("reallyEnd")) && tell("end")();
  return h("div", { class: "head" },
    backBar(h("h1", null, shown(session.label)), h("span", { class: `badge ${what}` }, t(what === "away" ? "state_away" : what))),
    h("p", { class: "path" }, shown(session.folder ?? "")),
    session.stopped_by && h("p", { class: "warning" }, t("pausedBy", { by: shown(session.stopped_by) })),
    session.outside && h("p", { class: "warning" }, t("outside", { sender: shown(session.outside.sender) })),
    h("div", { class: "row" },
      lives && may("review") && (session.stopped_by ? button("goOn", "quiet", tell("resume")) : button("pause", "quiet", tell("stop"))),
      lives && session.driven && may("review") && button("interrupt", "quiet", tell("interrupt")),
      drives && button("end", "quiet", end),
      mute(session.label),
      modes(session, drives, (mode) => tell("mode", { mode })())));
}

/** Whether this browser tells of the session while nobody looks. */
function mute(label) {
  const box = h("input", { type: "checkbox", checked: isMuted(label), onchange: () => setMuted(label, box.checked) });
  return h("label", { class: "check small" }, box, t("mute"));
}

/** The mode in words; where the session takes orders, a menu that explains each. */
function modes(session, drives, change) {
  if (!session.mode) return null;
  const words = (mode) => `${mode}: ${t(`mode_${mode}`)}`;
  if (!drives) return h("span", { class: "small" }, words(session.mode));
  const choice = h("select", { "aria-label": t("mode"), onchange: () => change(choice.value) },
    MODES.map((mode) => h("option", { value: mode, selected: mode === session.mode }, words(mode))));
  return choice;
}

function message(item) {
  const isReply = item.kind === "reply";
  return h("li", { class: item.kind },
    h("div", { class: "who small" },
      isReply ? null : h("strong", null, shown(item.sender)), " ", moment(item.at, currentLanguage()),
      item.redelivered && ` · ${t("redelivered")}`, item.edited_at && ` · ${t("edited")}`, !isReply && ` · ${item.state}`),
    item.text === undefined ? h("p", { class: "hint" }, "…") : isReply ? markdown(item.text) : h("p", { class: "plain" }, shown(item.text)),
    (item.files ?? []).map((file) => h("p", { class: "path" }, shown(file.path))));
}

/** The stream tells that an event came, not what it says: texts are fetched where someone looks. */
async function fetchTexts(id) {
  try {
    const [events, replies] = await Promise.all([
      call("GET", `/api/v1/events?session=${id}&limit=50`),
      call("GET", "/api/v1/replies"),
    ]);
    replies.filter((reply) => reply.session === id).forEach((reply) => addSaid(id, "reply", reply));
    events.forEach((event) => addSaid(id, "event", event));
    changed();
  } catch {
    // The list stays as the stream told it.
  }
}

/** Fetches the text of each event that is shown and has none yet. */
export async function fetchMissing(id, asked) {
  const missing = [...(state.said.get(id)?.values() ?? [])].filter((item) => item.text === undefined && !asked.has(item.id));
  await Promise.all(missing.slice(-100).map(async (item) => {
    asked.add(item.id);
    const event = await call("GET", `/api/v1/events/${item.id}`).catch(() => undefined);
    addSaid(id, item.kind, { ...item, ...event, text: event?.text ?? t("erased") });
  }));
  if (missing.length) changed();
}
