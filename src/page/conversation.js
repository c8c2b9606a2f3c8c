// The conversation of a session: what was said to it and by it, and what it did, in order of time. Only a part of a long
// one is in the document; it moves with whoever scrolls.

import { call } from "./api.js";
import { h, keep } from "./dom.js";
import { followEnd } from "./ending.js";
import { button } from "./parts.js";
import { drawItem, noteOrder, revision } from "./said.js";
import { addSaid, changed, may, noteCall, state } from "./state.js";
import { Stream } from "./stream.js";
import { currentLanguage, t } from "./words.js";

/** Items in the document at once, and by how many they move: few enough to be made and laid out within a frame. */
const WINDOW = 60;
const STEP = 10;
/** Sessions of one conversation whose prompts are asked for. */
const MOST_BEFORE = 5;

export function conversation(id) {
  const list = h("ol", { class: "said", "aria-label": t("conversation") });
  const up = button("older", "quiet", () => moveUp());
  const down = button("newer", "quiet", () => moveDown());
  const element = h("div", null, h("div", { class: "row middle" }, up), list, h("div", { class: "row middle" }, down));
  const asked = new Set();
  let end; // the item after the last one in the document; undefined: the newest
  let isDue = false;
  let readFor; // the conversation whose end was read from its transcript
  const stream = new Stream(id, () => {
    if (isDue) return;
    isDue = true;
    setTimeout(() => ((isDue = false), draw()), 40);
  });
  const onVisible = () => (document.hidden ? stream.stop() : stream.start());
  document.addEventListener("visibilitychange", onVisible);
  onVisible();
  fetchSaid(id);
  fetchAsks(id);

  /** Both lists are in order already; an item of the stream comes after what was sent at the same moment. */
  let merged = { of: "", all: [] };
  const items = () => {
    const of = `${state.revision} ${stream.revision}`;
    if (merged.of !== of) merged = { of, all: merge() };
    return merged.all;
  };
  const merge = () => {
    const known = state.said.get(id);
    const said = [...(known?.values() ?? [])].map((item) => ({ ...item, key: item.id })).sort((a, b) => a.at - b.at);
    const all = [];
    let next = 0;
    for (const item of stream.items) {
      if (item.kind === "event" && known?.has(item.id)) continue;
      while (next < said.length && said[next].at <= item.at) all.push(said[next++]);
      all.push(item);
    }
    return all.concat(said.slice(next));
  };
  /** What was said before the stream began is shown at once, as far as it is known which conversation it is. */
  const readBefore = () => {
    const conversation = state.sessions.get(id)?.agent_session;
    if (!stream.isCaughtUp || stream.isReading || stream.older !== undefined || !conversation || readFor === conversation) return;
    readFor = conversation;
    stream.readOlder().then(() => {
      if (stream.hasFailed) readFor = undefined;
      stream.hasFailed = false;
    });
  };
  function draw() {
    ending.look();
    readBefore();
    const all = items();
    const stop = Math.min(end ?? all.length, all.length);
    const start = Math.max(0, stop - WINDOW);
    up.hidden = start === 0 && !stream.older;
    down.hidden = stop === all.length;
    noteOrder(all.slice(start));
    const wanted = all.slice(start, stop).map((item) => [item.key, revision(item), (before) => drawItem(item, before)]);
    const nothing = stream.isReading || !stream.isCaughtUp ? "loading" : "nothingSaid";
    keep(list, wanted.length ? wanted : [["nothing", nothing + currentLanguage(), () => h("li", { class: "hint" }, t(nothing))]]);
    const last = all.at(-1);
    ending.changed(`${last?.key} ${last?.text?.length}`, end === undefined);
    fetchMissing(id, asked, all.slice(start, stop));
  }
  /** Draws another part, and keeps what was looked at in its place. */
  const move = (to, anchor) => {
    const key = anchor?.dataset.key;
    const top = anchor?.getBoundingClientRect().top;
    // Whoever sees the last one sees what comes after it, too.
    end = to >= items().length ? undefined : to;
    draw();
    const now = [...list.children].find((child) => child.dataset.key === key);
    if (now) scrollBy(0, now.getBoundingClientRect().top - top);
    ending.moved(); // whoever goes on up from here scrolls up, however fast
  };
  async function moveUp() {
    const first = list.firstElementChild;
    const before = items().length;
    let stop = end ?? before;
    if (stop - WINDOW <= 0) {
      await stream.readOlder();
      stop += items().length - before;
    }
    ending.leave();
    move(Math.max(stop - STEP, Math.min(WINDOW, items().length)), first);
  }
  function moveDown() {
    move((end ?? items().length) + STEP, list.lastElementChild);
  }
  const ending = followEnd(element, {
    toNewest: () => ((end = undefined), draw()),
    scrolled: (isUp) => {
      // Only for whoever scrolls up: a list that grows below, or is new, is near its top as well.
      if (isUp && scrollY < 200 && !up.hidden && items().length > WINDOW) moveUp();
      else if (!down.hidden && ending.isNear(120)) moveDown();
    },
  });
  const leave = () => {
    stream.stop();
    document.removeEventListener("visibilitychange", onVisible);
    ending.stop();
  };
  return { element, draw, leave, ending };
}

/** The changes tell that an event came, not what it says: texts are fetched where someone looks. */
async function fetchSaid(id) {
  const since = state.told;
  try {
    const [events, replies] = await Promise.all([call("GET", `/api/v1/events?session=${id}&limit=50`), call("GET", "/api/v1/replies")]);
    replies.filter((reply) => reply.session === id).forEach((reply) => addSaid(id, "reply", reply, since));
    events.forEach((event) => addSaid(id, "event", event, since));
    changed();
  } catch {
    // The list stays as the changes told it.
  }
}

/** Prompts of before tell which calls were edited or denied, and by whom. A conversation may have gone on in several sessions. */
async function fetchAsks(id) {
  if (!may("review")) return;
  for (let [session, left] = [id, MOST_BEFORE]; session && left > 0; session = state.sessions.get(session)?.continues, left -= 1) {
    (await call("GET", `/api/v1/asks?state=answered&session=${session}&limit=500`).catch(() => [])).forEach(noteCall);
    changed();
  }
}

/** Fetches the text of each event that is shown and has none yet. */
async function fetchMissing(id, asked, items) {
  const missing = items.filter((item) => item.kind === "event" && item.text === undefined && !asked.has(item.id));
  missing.forEach((item) => asked.add(item.id));
  const since = state.told;
  await Promise.all(missing.map(async (item) => {
    try {
      const event = await call("GET", `/api/v1/events/${item.id}`);
      addSaid(id, item.kind, { ...item, ...event, text: event.text ?? t("erased") }, since);
    } catch (error) {
      // One that could not be asked for is asked for again.
      if (error.status === 404) addSaid(id, item.kind, { ...item, text: t("erased") });
      else asked.delete(item.id);
    }
  }));
  if (missing.length) changed();
}
