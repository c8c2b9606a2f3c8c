// One session: its head with what can be done to it, its prompts, the conversation, and the box to write in.

import { call } from "./api.js";
import { composer } from "./composer.js";
import { conversation } from "./conversation.js";
import { h, keep } from "./dom.js";
import { shown } from "./letters.js";
import { modeInWords, offeredModes } from "./modes.js";
import { isMuted, setMuted } from "./muted.js";
import { backBar, button } from "./parts.js";
import { drawPrompts } from "./prompts.js";
import { tellMuted } from "./push.js";
import { isPaused, may, standing, state, successor, tellSession, why } from "./state.js";
import { currentLanguage, t } from "./words.js";

export function sessionView(id) {
  const head = h("div", { class: "contents" });
  const prompts = h("div", { class: "prompts", role: "region", "aria-label": t("prompts") });
  const notice = h("p", { class: "notice", role: "status" });
  const talk = conversation(id);
  const box = may("talk") ? composer(id, () => talk.ending.toEnd(), notice) : undefined;
  const dock = h("div", { class: "dock" }, talk.ending.jump, box?.element);
  const covers = keepClear(dock);
  /** What is shown of the session besides its name and its mode; it stays open when the head is drawn anew. */
  const more = { isOpen: false };
  const draw = () => {
    talk.ending.look();
    const session = state.sessions.get(id);
    keep(head, [["head", JSON.stringify([session && { ...session, last_active: 0 }, state.words.get(id)?.title, session && standing(session), successor(id)?.id, state.isReady, currentLanguage()]), () => header(session, id, notice, more)]]);
    const isUnknown = !session && state.isReady;
    talk.element.hidden = isUnknown;
    dock.hidden = isUnknown;
    drawPrompts(prompts, id);
    talk.draw();
    box?.draw();
    talk.ending.stick();
  };
  const leave = () => {
    covers.stop();
    talk.leave();
  };
  return { element: h("section", { class: "conversation" }, head, talk.element, prompts, dock), draw, leave };
}

/** What is brought into view does not end up behind the box to write in. */
function keepClear(dock) {
  const page = document.documentElement.style;
  const sizes = new ResizeObserver(() => page.setProperty("--dock", `${dock.offsetHeight}px`));
  sizes.observe(dock);
  return { stop: () => (sizes.disconnect(), page.removeProperty("--dock")) };
}

function header(session, id, notice, more) {
  if (!session && !state.isReady) return backBar(h("h1", null, t("loading")));
  if (!session) return h("div", null, backBar(h("h1", null, t("unknownSession"))), h("div", { class: "empty" }, h("p", { class: "hint" }, t("unknownHow")), h("a", { class: "button", href: "#/" }, t("toSessions"))));
  const what = standing(session);
  const tell = (order, body) => () => tellSession(id, notice, order, body);
  const lives = what !== "ended";
  const goesOn = !lives && successor(id);
  const drives = lives && session.driven && may("start");
  const end = () => confirm(t("reallyEnd")) && tell("end")();
  const goOn = async () => (await tell("resume")()) && isPaused(session) && sayForAWhile(notice, t("resumed"));
  // What is most needed stays in sight while someone reads.
  const first = lives
    ? may("review") && (session.stopped_by ? button("goOn", isPaused(session) ? "primary" : "quiet", goOn) : button("pause", "quiet", tell("stop")))
    : goesOn
      ? h("a", { class: "button primary", href: `#/session/${goesOn.id}` }, t("goesOn"))
      : may("start") && session.agent_session && button("continue", "primary", () => continueIt(session, notice));
  const rest = h("div", { class: "rest", id: "about-session", hidden: !more.isOpen },
    h("p", { class: "path" }, shown(session.folder ?? ""), ` · ${t("connectedBy", { how: t(`by_${session.connected_by}`) })}`,
      may("admin") && session.folder && [" · ", h("a", { href: "#/rules", onclick: () => (state.folder = session.folder) }, t("rulesOfFolder"))]),
    drives && session.mode && modes(session, (mode) => tell("mode", { mode })()),
    h("div", { class: "row" }, mute(session.label, notice), drives && button("end", "quiet", end)));
  const open = () => {
    // It grows at the head: whoever reads at the end stays there.
    const { scrollHeight } = document.documentElement;
    const isAtEnd = scrollY + innerHeight >= scrollHeight - 24;
    if (isAtEnd) requestAnimationFrame(() => scrollTo(0, document.documentElement.scrollHeight));
    more.isOpen = rest.hidden;
    rest.hidden = !more.isOpen;
    toggle.setAttribute("aria-expanded", String(more.isOpen));
  };
  const toggle = h("button", { type: "button", class: "quiet", onclick: open, "data-action": "about", "aria-label": t("aboutSession"), "aria-controls": "about-session", "aria-expanded": String(more.isOpen) }, "⋯");
  const title = state.words.get(id)?.title;
  return h("div", { class: "head" },
    h("div", { class: "top" },
      backBar(
        h("div", { class: "name" }, h("h1", null, shown(session.label)),
          h("p", { class: "small" }, h("span", { class: `badge ${what}` }, t(what === "away" ? "state_away" : what)), lives && session.mode === "bypassPermissions" && h("span", { class: "badge risky" }, t("asksNothing")), title && h("span", { class: "about", title: shown(title) }, shown(title)))),
        first, toggle),
      rest, notice),
    h("p", { class: "path" }, session.mode ? modeInWords(session.mode) : shown(session.folder ?? "")),
    session.stopped_by && h("p", { class: "warning" }, t({ holds: "pausedBy", unenforced: "pauseUnenforced" }[session.stop] ?? "pauseUnconfirmed", { by: shown(session.stopped_by) })),
    session.outside && h("p", { class: "warning" }, t("outside", { sender: shown(session.outside.sender) })));
}

/** How long is said what needs nothing to be done, in milliseconds. */
const SAID_FOR = 10_000;

function sayForAWhile(notice, words) {
  notice.textContent = words;
  setTimeout(() => notice.textContent === words && (notice.textContent = ""), SAID_FOR);
}

/** Continues an ended session in a held one, under its label. */
async function continueIt(session, notice) {
  notice.textContent = t("starting");
  try {
    // In the mode that it had, where that may be named here.
    const mode = offeredModes().includes(session.mode) ? session.mode : undefined;
    const started = await call("POST", "/api/v1/sessions", { folder: session.folder, resume: session.agent_session, mode });
    location.hash = `#/session/${started.id}`;
  } catch (error) {
    notice.textContent = why(error);
  }
}

/** Whether this browser tells of the session while nobody looks. */
function mute(label, notice) {
  const change = () => {
    setMuted(label, box.checked);
    tellMuted().catch((error) => (notice.textContent = why(error)));
  };
  const box = h("input", { type: "checkbox", checked: isMuted(label), onchange: change });
  return h("label", { class: "check small" }, box, t("mute"));
}

/** A menu that explains each mode. */
function modes(session, change) {
  // One that is refused is not shown as the one that counts.
  const isMeant = () => choice.value !== "bypassPermissions" || confirm(t("reallyBypass"));
  const choose = async () => (isMeant() && (await change(choice.value))) || (choice.value = session.mode);
  const choice = h("select", { "aria-label": t("mode"), onchange: choose },
    offeredModes(session.mode).map((mode) => h("option", { value: mode, selected: mode === session.mode }, modeInWords(mode))));
  return choice;
}
