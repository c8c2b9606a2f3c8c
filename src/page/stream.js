// What a session says and does while someone looks: its stream, and what is older from its transcript.

import { call, follow } from "./api.js";

/** Entries kept of one session. What is older is fetched again when someone scrolls there. */
const MOST = 20_000;
/** The stream and the transcript tell of one prompt at most so far apart, in milliseconds. */
const SAME = 60_000;

/** The entries of one session, in order, with pieces of text put together and results put to their calls. */
export class Stream {
  constructor(session, changed) {
    this.session = session;
    this.changed = changed;
    this.items = [];
    this.known = new Map();
    /** Counts what changed: whoever holds a list made of these items knows by it whether that still holds. */
    this.revision = 0;
    this.last = 0;
    this.older = undefined;
    /** The number of the newest entry that the session's process had when it answered; none before that. */
    this.newest = undefined;
    /** Nothing more is to come before what happens next. */
    this.isCaughtUp = false;
    this.isReading = false;
    this.abort = undefined;
  }

  /** Listens until `stop`. A hidden page does not: a browser has few connections to one host. */
  async start() {
    if (this.abort) return;
    this.abort = new AbortController();
    const { signal } = this.abort;
    try {
      await follow(() => `/api/v1/sessions/${this.session}/stream?after=${this.last}`, (message) => this.take(message), () => {}, signal);
    } catch {
      // This session has no stream, or not for us: what was said is still shown.
      this.isCaughtUp = true;
      this.changed();
    }
    if (!signal.aborted) this.abort = undefined;
  }

  stop() {
    this.abort?.abort();
    this.abort = undefined;
  }

  take({ entry, opened, lost, away, ended }) {
    if (opened) this.newest = opened.newest;
    if (lost) this.last = Math.max(this.last, lost.next - 1);
    if (entry && entry.n > this.last) {
      this.last = entry.n;
      this.add(entry, this.items.length);
    }
    if (away || ended || this.last >= this.newest) this.isCaughtUp = true;
    if (ended) this.stop();
    this.changed();
  }

  /** Puts an entry in at a place, or to the one that it belongs to. */
  add(entry, place) {
    this.revision += 1;
    const { at, user, event, text, call: started, result, turn, notice } = entry;
    if (text) {
      const key = `text-${text.message}-${text.block ?? 0}`;
      const before = this.known.get(key);
      if (before) before.text += text.text;
      else this.insert({ key, kind: "text", at, text: text.text, agent: text.agent }, place);
    } else if (started) {
      const key = `call-${started.call}`;
      if (!this.known.has(key)) this.insert({ key, kind: "call", at, ...started }, place);
    } else if (result) {
      const before = this.known.get(`call-${result.call}`);
      if (before) before.result = result;
    } else if (event) {
      // Of those of this stream the text comes with what was said to the session.
      if (!entry.n && !this.known.has(`event-${event.event}`)) this.insert({ key: `event-${event.event}`, kind: "event", at, id: event.event, sender: event.sender }, place);
    } else if (user) {
      this.insert({ key: keyOf(entry, "user"), kind: "user", at, ...user }, place);
    } else if (turn && turn.ended !== "done") {
      // Where the agent's last words say why, that is not said again.
      const isSaid = turn.why && this.items[place - 1]?.text?.trim() === turn.why.trim();
      this.insert({ key: keyOf(entry, "turn"), kind: "turn", at, ...turn, ...(isSaid && { why: "" }) }, place);
    } else if (notice) this.insert({ key: keyOf(entry, "notice"), kind: "notice", at, ...notice }, place);
  }

  insert(item, place) {
    this.known.set(item.key, item);
    this.items.splice(place, 0, item);
    if (this.items.length <= MOST) return;
    const [gone] = this.items.splice(0, 1);
    this.known.delete(gone.key);
  }

  /** Reads a page of what is older. Says whether there may be more. */
  async readOlder() {
    if (this.older === null || this.isReading) return false;
    this.isReading = true;
    // What a subagent says and does is in another transcript.
    const oldest = this.items.find((item) => (item.kind === "text" || item.kind === "call") && !item.agent);
    const until = oldest && (oldest.call ?? oldest.key.split("-").slice(1, -1).join("-"));
    const place = this.older ? `before=${encodeURIComponent(this.older)}` : until ? `until=${encodeURIComponent(until)}` : "";
    try {
      const { entries, before } = await call("GET", `/api/v1/sessions/${this.session}/history?limit=200&${place}`);
      this.older = before ?? null;
      const [newer, shown] = [this.items, new Set(this.known.keys())];
      // A prompt has no name: it is known by its words and its time.
      const prompts = Map.groupBy(newer.filter(({ kind }) => kind === "user"), ({ text }) => text.trim());
      const isShown = ({ at, text, call: started, user }) =>
        (text && shown.has(`text-${text.message}-${text.block ?? 0}`)) || (started && shown.has(`call-${started.call}`)) ||
        (user && prompts.get(user.text.trim())?.some((item) => Math.abs(item.at - at) < SAME));
      // In front of what is there; a result follows its call.
      this.items = [];
      try {
        entries.filter((entry) => !isShown(entry)).forEach((entry) => this.add(entry, this.items.length));
      } finally {
        this.items = this.items.concat(newer);
        this.items.splice(0, Math.max(0, this.items.length - MOST)).forEach(({ key }) => this.known.delete(key));
      }
    } catch (error) {
      // Without a transcript, or with one that is not written yet, there is nothing older for now.
      if (error.status !== 404) this.hasFailed = true;
      if (this.older !== undefined) this.older = null;
    }
    this.isReading = false;
    this.changed();
    return Boolean(this.older);
  }
}

const keyOf = (entry, kind) => (entry.n ? `${kind}-${entry.n}` : `${kind}-${entry.at}-${JSON.stringify(entry[kind]).slice(0, 80)}`);
