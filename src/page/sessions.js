// The list of sessions: those that wait for someone first.

import { ago, agoInWords, h, keep } from "./dom.js";
import { exactly, shown } from "./letters.js";
import { notePlace } from "./place.js";
import { alarms, may, openAsks, sortedSessions, standing, state } from "./state.js";
import { currentLanguage, locale, t } from "./words.js";

let showsEnded = false;

export function sessionsView(redraw) {
  const list = h("ul", { class: "sessions" });
  const empty = h("div", { class: "empty" });
  const loading = h("p", { class: "hint" }, t("loading"));
  const ended = h("button", { type: "button", class: "quiet", onclick: () => ((showsEnded = !showsEnded), redraw()) });
  const element = h("section", { "aria-label": t("sessions") },
    h("div", { class: "bar" }, h("h1", null, t("sessions")), may("start") && h("a", { class: "button primary", href: "#/start" }, t("start"))),
    loading, empty, list, ended);
  const draw = () => {
    // One that went on in another is told of there.
    const goneOn = new Set([...state.sessions.values()].map((session) => session.continues));
    const all = sortedSessions().filter((session) => session.state !== "ended" || !goneOn.has(session.id));
    const shownOnes = all.filter((session) => showsEnded || session.state !== "ended");
    keep(list, shownOnes.map((session) => [session.id, revision(session), () => item(session)]));
    ended.hidden = all.every((session) => session.state !== "ended");
    ended.textContent = showsEnded ? t("hideEnded") : t("showEnded");
    loading.hidden = shownOnes.length > 0 || state.isReady;
    empty.hidden = shownOnes.length > 0 || !state.isReady;
    empty.replaceChildren(h("p", null, t("noSessions")), h("p", { class: "hint" }, t(may("start") ? "noSessionsHow" : "noSessionsAsk")));
  };
  return { element, draw };
}

const alarm = (call) => h("p", { class: "card alarm" }, h("strong", null, t("alarm")), " ", ago(call.at, locale()), " ",
  t("ranUnasked", { label: shown(call.label ?? call.session), tool: shown(call.tool) }), " ", may("admin") && h("a", { href: "#/log" }, t("log")));

/** Whatever is looked at: each of them says that something ran which a person had to be asked about. */
export const drawAlarms = (element) => keep(element, alarms().map((call) => [`${call.at} ${call.session} ${call.tool}`, currentLanguage(), () => alarm(call)]));

/** When something last happened there. A gate of an earlier release does not tell. */
const active = (session) => session.last_active || session.since;

const revision = (session) => JSON.stringify([{ ...session, last_active: 0 }, state.words.get(session.id), standing(session), currentLanguage(), agoInWords(active(session), locale())]);

function item(session) {
  const what = standing(session);
  const waits = openAsks(session.id).length;
  const { title, last } = state.words.get(session.id) ?? {};
  return h("li", null,
    h("a", { class: `card session ${what}`, href: `#/session/${session.id}`, onclick: notePlace },
      h("span", { class: "line" },
        h("strong", null, exactly(session.label)),
        h("span", { class: `badge ${what}` }, t(what === "away" ? "state_away" : what), waits > 1 && ` (${waits})`)),
      title && h("span", { class: "title" }, exactly(title)),
      last && h("span", { class: "last small" }, exactly(last)),
      h("span", { class: "path" }, exactly(session.folder ?? "")),
      h("span", { class: "line small" },
        h("span", null, t("connectedBy", { how: t(`by_${session.connected_by}`) })),
        session.waiting > 0 && h("span", null, t("eventsWait", { n: session.waiting })),
        h("span", { class: "active" }, t(what === "ended" ? "ended" : "lastActive"), " ", ago(active(session), locale()))),
      session.mode && h("span", { class: session.mode === "bypassPermissions" ? "small warning" : "small" }, `${session.mode}: ${t(`mode_${session.mode}`)}`),
      session.outside && h("span", { class: "small warning" }, t("outside", { sender: shown(session.outside.sender) }))));
}
