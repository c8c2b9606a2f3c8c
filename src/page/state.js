// What the gate has told: sessions, prompts, and what was said in each session. Views read it and draw anew on change.

import { shown } from "./dom.js";
import { errorInChinese, t } from "./words.js";

export const state = {
  /** unlinked, connecting, open or away */
  connection: "connecting",
  /** Who this device is to the gate, with its rights. */
  me: undefined,
  sessions: new Map(),
  asks: new Map(),
  /** By session: events and replies by id, in the order in which they came. */
  said: new Map(),
  /** Whether the gate has told what there is. */
  isReady: false,
  /** Counts changes of people, tokens and devices. */
  people: 0,
  /** The folder that someone came from to its rules. */
  folder: undefined,
  revision: 0,
};

/** How much of what was said is kept for each session; the log has the rest. */
const MOST_SAID = 2000;

const drawers = new Set();
let isDue = false;

export function onChange(draw) {
  drawers.add(draw);
  return () => drawers.delete(draw);
}

export function changed() {
  state.revision += 1;
  if (isDue) return;
  isDue = true;
  // Not requestAnimationFrame: the title must change in a hidden tab, too.
  queueMicrotask(() => {
    isDue = false;
    drawers.forEach((draw) => draw());
  });
}

export function setConnection(connection) {
  if (state.connection === connection) return;
  state.connection = connection;
  changed();
}

/** Takes in one message of the stream. */
export function take(change) {
  if (change.restart) {
    // Everything is told anew: what is gone since must not stay.
    state.fresh = { sessions: new Map(), asks: new Map() };
    return;
  }
  const { sessions, asks } = state.fresh ?? state;
  if (change.session) sessions.set(change.session.id, change.session);
  if (change.ask) asks.set(change.ask.id, change.ask);
  const happened = change.ask ?? change.event ?? change.reply;
  const session = happened && sessions.get(happened.session);
  if (session) session.last_active = Math.max(session.last_active ?? 0, happened.at);
  if (change.event) addSaid(change.event.session, "event", change.event);
  if (change.reply) addSaid(change.reply.session, "reply", change.reply);
  if (change.people) state.people += 1;
  if (change.ready) {
    Object.assign(state, state.fresh);
    state.fresh = undefined;
    // What has changed while nobody told.
    state.people += 1;
  }
  if (!state.fresh) changed();
}

export function addSaid(session, kind, item) {
  if (!session) return;
  if (!state.said.has(session)) state.said.set(session, new Map());
  const said = state.said.get(session);
  const before = said.get(item.id);
  said.set(item.id, { ...before, ...item, kind, text: item.text ?? before?.text });
  if (said.size > MOST_SAID) said.delete(said.keys().next().value);
}

/** Open prompts, the oldest first: all, or those of one session. */
export function openAsks(session) {
  const open = [...state.asks.values()].filter((ask) => ask.state === "open");
  return open.filter((ask) => !session || ask.session === session).sort((a, b) => a.at - b.at);
}

/** The prompt of a call, by the client's id of the call. */
export const askOf = (call) => [...state.asks.values()].findLast((ask) => call && ask.tool_use_id === call);

/** The changes tell of sessions that live; the latest that have ended are fetched once. */
export async function fetchEnded(fetched) {
  const all = await fetched.catch(() => []);
  all.forEach((session) => state.sessions.has(session.id) || state.sessions.set(session.id, session));
  state.isReady = true;
  changed();
}

/** The living session that goes on from an ended one. */
export const successor = (id) => [...state.sessions.values()].find((session) => session.continues === id && session.state !== "ended");

/** What a session does, in one word that people sort by. */
export function standing(session) {
  if (session.state === "ended") return "ended";
  if (openAsks(session.id).length > 0) return "waiting";
  if (session.state !== "attached") return "away";
  if (session.stopped_by) return "paused";
  return session.activity === "working" ? "working" : "idle";
}

const ORDER = ["waiting", "working", "paused", "idle", "away", "ended"];

/** Those that wait for someone first, then those that work, then the newest. */
export function sortedSessions() {
  const rank = (session) => ORDER.indexOf(standing(session));
  return [...state.sessions.values()].sort((a, b) => rank(a) - rank(b) || b.since - a.since);
}

/** What went wrong: in Chinese by the error's number, with the gate's words behind it; else in those, with its hint. */
export function why(error) {
  if (error instanceof TypeError) return t("unreachable");
  const known = errorInChinese(error.number);
  // Hints for programs name routes and parameters.
  const hint = /`(GET|POST|PUT) |\?\w+=/.test(error.hint ?? "") ? "" : error.hint;
  const words = known ? `${known} (${error.message})` : [error.message, hint].filter(Boolean).join("; ");
  return t("failed", { why: shown(words) });
}

export const MODES = ["default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"];

/** Folders that someone may mean: those of sessions, and those in which sessions may be started. */
export const folders = () => [...new Set([state.folder, ...(state.me?.folders ?? []), ...[...state.sessions.values()].map((session) => session.folder)].filter(Boolean))];

export const may = (right) => state.me?.rights?.includes(right) ?? false;
