// What the gate has told: sessions, prompts, and what was said in each session. Views read it and draw anew on change.

import { call } from "./api.js";
import { respelled, shown } from "./letters.js";
import { withoutMarks } from "./markdown.js";
import { errorInChinese, phrase, t } from "./words.js";

export const state = {
  /** unlinked, connecting, open or away */
  connection: "connecting",
  /** Who this device is to the gate, with its rights. */
  me: undefined,
  sessions: new Map(),
  asks: new Map(),
  /** Prompts by the client's id of their call, those that were settled long ago as well. */
  byCall: new Map(),
  /** By session: what its conversation is called, and what its agent said last. */
  words: new Map(),
  /** By session: events and replies by id, in the order in which they came. */
  said: new Map(),
  /** Whether the gate has told what there is. */
  isReady: false,
  /** Counts changes of people, tokens and devices. */
  people: 0,
  /** The folder that someone came from to its rules. */
  folder: undefined,
  revision: 0,
  /** Counts what the gate has told. */
  told: 0,
};

/** How much of what was said is kept for each session; the log has the rest. */
const MOST_SAID = 2000;
/** How many prompts are known by their call. */
const MOST_CALLS = 5000;

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
  state.told += 1;
  const { sessions, asks } = state.fresh ?? state;
  if (change.session) sessions.set(change.session.id, change.session);
  if (change.ask) {
    asks.set(change.ask.id, change.ask);
    noteCall(change.ask);
  }
  const happened = change.ask ?? change.event ?? change.reply;
  const session = happened && sessions.get(happened.session);
  if (session) session.last_active = Math.max(session.last_active ?? 0, happened.at);
  const { told } = state;
  if (change.event) addSaid(change.event.session, "event", { ...change.event, told });
  if (change.reply) addSaid(change.reply.session, "reply", { ...change.reply, told });
  if (change.people) state.people += 1;
  if (change.ready) {
    Object.assign(state, state.fresh);
    state.fresh = undefined;
    // What has changed while nobody told.
    state.people += 1;
  }
  if (!state.fresh) changed();
}

/** `since`: how much had been told when the item was asked for. What was told of it meanwhile is newer. */
export function addSaid(session, kind, item, since = state.told) {
  if (!session) return;
  if (!state.said.has(session)) state.said.set(session, new Map());
  const said = state.said.get(session);
  const before = said.get(item.id);
  const [older, newer] = before?.told > since ? [item, before] : [before, item];
  said.set(item.id, { ...older, ...newer, kind, text: newer.text ?? older?.text });
  if (said.size > MOST_SAID) said.delete(said.keys().next().value);
}

/** Open prompts, the oldest first: all, or those of one session. */
export function openAsks(session) {
  if (open.of !== state.revision) {
    const all = [...state.asks.values()].filter((ask) => ask.state === "open").sort((a, b) => a.at - b.at);
    open = { of: state.revision, all, bySession: Map.groupBy(all, (ask) => ask.session) };
  }
  return session ? open.bySession.get(session) ?? [] : open.all;
}

/** They are asked for once for each session that is drawn, and there may be many of both. */
let open = {};

/** The prompt of a call, by the client's id of the call. */
export const askOf = (call) => (call ? state.byCall.get(call) : undefined);

/** What becomes of a call is told by its newest prompt. */
export function noteCall(ask) {
  const call = ask.tool_use_id;
  if (!call || state.byCall.get(call)?.at > ask.at) return;
  state.byCall.set(call, ask);
  if (state.byCall.size > MOST_CALLS) state.byCall.delete(state.byCall.keys().next().value);
}

/** The changes tell of sessions that live; the latest that have ended are fetched once. */
export async function fetchEnded(fetched) {
  const all = await fetched.catch(() => []);
  all.forEach((session) => state.sessions.has(session.id) || state.sessions.set(session.id, session));
  all.forEach(noteWords);
  state.isReady = true;
  changed();
}

/** The changes do not tell what was said: whoever asks for the sessions is told. */
export function noteWords({ id, title, last_words: last, unasked_calls: unasked = [] }) {
  // How much more there is says nothing in a list.
  const short = (text) => text && withoutMarks(text.replace(/… \[\d+ more bytes\]$/, "…"));
  state.words.set(id, { title: short(title), last: short(last), unasked });
}

/** How long an alarm is shown, in milliseconds; the log has it for ever. */
const ALARM_SHOWN = 24 * 3_600_000;

export const alarms = () => [...state.words.values()].flatMap(({ unasked }) => unasked).filter(({ at }) => Date.now() - at < ALARM_SHOWN).sort((a, b) => b.at - a.at);

/** The living session that goes on from an ended one. */
export const successor = (id) => [...state.sessions.values()].find((session) => session.continues === id && session.state !== "ended");

/** Someone has paused it, and its process says that no tool runs. Until then it is only recorded. */
export const isPaused = (session) => session.stop === "holds";

/** What a session does, in one word that people sort by. */
export function standing(session) {
  if (session.state === "ended") return "ended";
  if (openAsks(session.id).length > 0) return "waiting";
  if (session.state !== "attached") return "away";
  if (isPaused(session)) return "paused";
  if (session.activity === "dialog") return "waiting";
  return session.activity === "working" ? "working" : "idle";
}

const ORDER = ["waiting", "working", "paused", "idle", "away", "ended"];

/** By the minute: what is about to be pressed does not move with every word. */
const lastMinute = (session) => Math.floor((session.last_active || session.since) / 60_000);

/** Those that wait for someone first, then those that work, then those where something happened last. */
export function sortedSessions() {
  const rank = (session) => ORDER.indexOf(standing(session));
  return [...state.sessions.values()].sort((a, b) => rank(a) - rank(b) || lastMinute(b) - lastMinute(a) || b.since - a.since);
}

/** What went wrong: in Chinese by the error's number, with the gate's words behind it; else in those, with its hint. */
export function why(error) {
  if (error instanceof TypeError) return t("unreachable");
  const known = errorInChinese(error.number);
  // Hints for programs name routes and parameters.
  const hint = /`(GET|POST|PUT) |\?\w+=/.test(error.hint ?? "") ? "" : error.hint;
  const words = known ? known + t("inBrackets", { what: phrase(error.message) }) : [error.message, hint].filter(Boolean).map(asSentence).join(" ");
  return t("failed", { why: shown(respelled(words)) });
}

/** What the gate says begins small and ends without a full stop: it may be part of a sentence there. */
const asSentence = (text, place) => (place > 0 ? text.charAt(0).toUpperCase() + text.slice(1) : text).replace(/`([^`]+)`/g, "“$1”").replace(/(?<![.!?])$/, ".");

/** Gives a session an order, and says in `notice` where it was refused. True where it was not. */
export async function tellSession(id, notice, order, body) {
  try {
    const outcome = await call("POST", `/api/v1/sessions/${id}/${order}?wait=10`, body);
    // Of a pause the head says how far it holds.
    const recorded = outcome.state === "recorded" && order !== "stop" ? t("orderRecorded") : "";
    notice.textContent = outcome.state === "failed" ? t("failed", { why: shown(phrase(outcome.why ?? "")) }) : recorded;
    return outcome.state !== "failed";
  } catch (error) {
    notice.textContent = why(error);
    return false;
  }
}

export const MODES = ["default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"];

/** Folders that someone may mean: those of sessions, and those in which sessions may be started. */
export const folders = () => [...new Set([state.folder, ...(state.me?.folders ?? []), ...[...state.sessions.values()].map((session) => session.folder)].filter(Boolean))];

export const may = (right) => state.me?.rights?.includes(right) ?? false;
