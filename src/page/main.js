// The page: which view is shown, the bar at the top, prompts above everything, and the stream of changes.

import { Refused, call, follow, isUnlinked, key } from "./api.js";
import { devicesView } from "./devices.js";
import { h } from "./dom.js";
import { linkView, takeSecret } from "./link.js";
import { logView } from "./log.js";
import { tell, tellNothing, wantsNotify } from "./notify.js";
import { peopleView } from "./people.js";
import { drawPrompts, leftOut } from "./prompts.js";
import { waitingBar } from "./waiting.js";
import { canPush, keepKey, notePresence, sayPresence, startWorker, subscribe } from "./push.js";
import { rulesView } from "./rules.js";
import { serversView } from "./servers.js";
import { sessionView } from "./session.js";
import { drawAlarms, sessionsView } from "./sessions.js";
import { cameFromList, whereItWas } from "./place.js";
import { startView } from "./start.js";
import { changed, fetchEnded, may, noteWords, onChange, openAsks, setConnection, state, take, why } from "./state.js";
import { onLetter } from "./steady.js";
import { t } from "./words.js";

const app = document.getElementById("app");
let view;
let frame;
let hasBegun = false;
/** A session has, since its last words were asked for. */
let hasEnded = false;

function route() {
  const [, name, id] = location.hash.match(/^#\/(\w*)(?:\/([\w-]+))?$/) ?? [];
  if (name === "session" && id) return { ...sessionView(id), session: id };
  if (name === "start" && may("start")) return startView();
  if (name === "log") return logView();
  if (name === "rules") return rulesView();
  if (name === "servers") return serversView();
  if (name === "people") return peopleView();
  if (name === "devices") return devicesView(show);
  return { ...sessionsView(draw), isHome: true };
}

function show(event) {
  view?.leave?.();
  leftOut.clear();
  // Each view begins at its top, and is made there; a conversation goes to its end by itself.
  scrollTo(0, 0);
  view = route();
  const here = location.hash.startsWith("#/session") || isList(location.hash) || location.hash === "#/start" ? "#/" : location.hash;
  const tab = (href, key) => h("a", { href, "aria-current": here === href && "page" }, t(key));
  frame = { alarms: h("div", { class: "alarms", role: "status" }), prompts: h("div", { class: "prompts", role: "region", "aria-label": t("prompts") }), away: h("p", { class: "away", role: "status", hidden: true }, t("away")), waiting: waitingBar() };
  const bars = h("div", { class: "bars" },
    h("nav", { "aria-label": "Portcullis" }, tab("#/", "sessions"), may("admin") && [tab("#/log", "log"), tab("#/rules", "rules"), tab("#/servers", "mcp"), tab("#/people", "people")], tab("#/devices", may("admin") ? "devices" : "settings")),
    frame.away, frame.waiting.element);
  keepBelow(bars);
  app.replaceChildren(bars,
    h("main", { id: "main", tabindex: "-1" }, frame.alarms, view.isHome && frame.prompts, view.element));
  draw();
  if (view.session && event && isList(new URL(event.oldURL).hash)) cameFromList();
  if (view.isHome) whereItWas();
  // Whoever came here by a link goes on from here, and not from the top of the page.
  if (event?.type === "hashchange") document.getElementById("main").focus({ preventScroll: true });
}

const isList = (hash) => ["", "#/"].includes(hash);

/** The head of a session stays right below the bars, however many there are. */
function keepBelow(bars) {
  heights.disconnect();
  heights.observe(bars);
}

const heights = new ResizeObserver(([{ target }]) => document.documentElement.style.setProperty("--bars", `${target.offsetHeight}px`));

function draw() {
  if (!view) return;
  frame.away.hidden = state.connection !== "away";
  tell();
  drawAlarms(frame.alarms);
  if (view.isHome) drawPrompts(frame.prompts);
  view.draw();
  frame.waiting.draw();
  notePresence();
}

/** Elsewhere only their number is shown. */
const showsAllPrompts = () => Boolean(view) && (view.isHome || openAsks().every((ask) => ask.session === view.session));

async function begin() {
  try {
    state.me = await call("GET", "/api/v1/me");
  } catch (error) {
    if (isUnlinked(error)) return unlinked(t("revoked"));
    setConnection("away");
    // A gate that answers says why; one that is away is waited for.
    app.replaceChildren(h("p", { class: "away", role: "status" }, error instanceof Refused && error.number ? why(error) : t("away")));
    setTimeout(begin, 2000);
    return;
  }
  startWorker();
  if (state.me.pushes) {
    if (canPush() && wantsNotify()) subscribe().catch(() => {});
    if (may("review")) sayPresence(showsAllPrompts);
  }
  onChange(draw);
  hasBegun = true;
  document.addEventListener("keydown", onLetter);
  setInterval(changed, 2000); // cards that were answered go, and times move on
  show();
  const isOpen = (open) => {
    const isBack = open && state.connection === "away";
    setConnection(open ? "open" : "away");
    if (isBack) backAgain();
  };
  try {
    await follow(() => "/api/v1/watch", taken, isOpen, new AbortController().signal, [401]);
  } catch {
    unlinked(t("revoked"));
  }
}

/** What could not be had while the gate was away is asked for again; what someone has written stays. */
function backAgain() {
  document.querySelectorAll(".notice").forEach((notice) => notice.textContent === t("unreachable") && (notice.textContent = ""));
  view?.refresh?.();
}

function taken(change) {
  take(change);
  if (change.ready) {
    fetchEnded(call("GET", "/api/v1/sessions?all=true&words=true"));
    // A gate that was started anew may be configured otherwise.
    call("GET", "/api/v1/me").then((me) => ((state.me = me), changed()), () => {});
  }
  hasEnded ||= change.session?.state === "ended";
  if (change.session) fetchWordsSoon();
}

/** How long a session may do things until the list says what it did last, in milliseconds. */
const WORDS_AFTER = 2000;
let wordsAreDue = false;

/** A client writes its transcript when it likes: so often what is not there yet is asked for again. */
const WORDS_AGAIN = 10;

/** Something has happened in a session: what it is about, and what was said last, is asked for a moment later. */
function fetchWordsSoon(left = WORDS_AGAIN) {
  if (wordsAreDue) return;
  wordsAreDue = true;
  setTimeout(async () => {
    wordsAreDue = false;
    if (document.hidden) return;
    // One that has ended may have left an alarm behind.
    const sessions = await call("GET", `/api/v1/sessions?words=true${hasEnded ? "&all=true" : ""}`).catch(() => []);
    hasEnded = false;
    const isMissing = sessions.some((session) => session.agent_session && !session.title);
    sessions.forEach(noteWords);
    changed();
    // Once more in any case: the last words may be on their way.
    if (left > 0 && (isMissing || left === WORDS_AGAIN)) fetchWordsSoon(left - 1);
  }, WORDS_AFTER);
}

function unlinked(why) {
  key.forget();
  keepKey();
  tellNothing();
  view?.leave?.();
  view = undefined;
  app.replaceChildren(linkView(undefined, linked, why));
}

/** A link that was opened here, also in a page that was open already. */
function link(secret) {
  view?.leave?.();
  view = undefined;
  app.replaceChildren(linkView(secret, linked));
}

/** This browser has a key: a page that has begun before begins anew. */
const linked = () => (hasBegun ? location.reload() : begin());

window.addEventListener("hashchange", (event) => {
  const secret = takeSecret();
  if (secret) link(secret);
  else if (hasBegun && key.get()) show(event);
});
// Views know where they begin.
history.scrollRestoration = "manual";

const secret = takeSecret();
if (secret) link(secret);
else if (key.get()) begin();
else app.replaceChildren(linkView(undefined, linked));
