// What is told to someone who does not look: the number in the title, and notifications of the browser.

import { h } from "./dom.js";
import { shown } from "./letters.js";
import { isMuted } from "./muted.js";
import { isPushed, workerReady } from "./push.js";
import { openAsks, standing, state } from "./state.js";
import { t } from "./words.js";

const told = new Set();
/** What each session did when it was last looked at. */
const before = new Map();

/** For whoever listens to the page and does not see it: said once, where it does not take the focus. */
const live = h("p", { class: "unseen", role: "status" });
document.body.append(live);
const said = new Set();

function announce(id, text) {
  if (said.has(id)) return;
  said.add(id);
  live.textContent = text;
  // Who comes to it later would take it for news.
  setTimeout(() => live.textContent === text && (live.textContent = ""), 10_000);
}

/** A browser cannot take back what it was allowed: that nothing is wanted is kept here. */
const OFF = "portcullis.notify.off";

export const canNotify = () => "Notification" in window && Notification.permission !== "denied";
export const wantsNotify = () => "Notification" in window && Notification.permission === "granted" && localStorage.getItem(OFF) === null;

export function askToNotify() {
  localStorage.removeItem(OFF);
  return Notification.requestPermission();
}

export const stopNotify = () => localStorage.setItem(OFF, "off");

/** Tells what waits and what has changed. Called after every change, and every two seconds. */
export function tell() {
  const waiting = openAsks();
  document.title = waiting.length ? `(${waiting.length}) Portcullis` : "Portcullis";
  navigator.setAppBadge?.(waiting.length).catch(() => {});
  const patience = (state.me?.notify_after ?? 10) * 1000;
  for (const ask of waiting) {
    announce(ask.id, `${t("asks", { label: shown(ask.label ?? "") })}: ${shown(ask.tool)}`);
    // The worker tells of it, and it is not to be told twice.
    if (!isPushed && Date.now() - ask.at >= patience) notify(`ask-${ask.id}`, ask.session, t("asks", { label: shown(ask.label ?? "") }), `${shown(ask.tool)}: ${shown(ask.preview).slice(0, 200)}`);
  }
  for (const session of state.sessions.values()) {
    const [was, is] = [before.get(session.id), standing(session)];
    before.set(session.id, is);
    // Where nobody tells what the agent does, an answered prompt says nothing of its end.
    if (["working", "waiting"].includes(was) && is === "idle" && session.activity === "idle") notify(`done-${session.id}-${Date.now()}`, session.id, t("finished", { label: shown(session.label) }), shown(state.words.get(session.id)?.last ?? "").slice(0, 200));
    if (was && was !== "ended" && is === "ended") notify(`ended-${session.id}`, session.id, t("died", { label: shown(session.label) }), "");
  }
}

/** A device that was shown out says no more of what waits: not in its title, and not in notifications that are still there. */
export async function tellNothing() {
  document.title = "Portcullis";
  navigator.clearAppBadge?.().catch(() => {});
  const registration = await navigator.serviceWorker?.getRegistration("/").catch(() => undefined);
  (await registration?.getNotifications())?.forEach((notification) => notification.close());
}

function notify(tag, session, title, body) {
  if (told.has(tag)) return;
  // Who looks at the page sees it there.
  if (!document.hidden && document.hasFocus()) return;
  told.add(tag);
  if (!wantsNotify() || isMuted(state.sessions.get(session)?.label)) return;
  show(title, { body, tag, data: { session } });
}

/** By the worker, where there is one: on Android a page cannot make a notification by itself. What fails here keeps nothing else. */
async function show(title, options) {
  const byWorker = workerReady().then((registration) => registration && registration.showNotification(title, options).then(() => true));
  if (await byWorker.catch(() => false)) return;
  try {
    const notification = new Notification(title, options);
    notification.onclick = () => {
      window.focus();
      location.hash = `#/session/${options.data.session}`;
      notification.close();
    };
  } catch {
    // The page itself shows it as well.
  }
}
