// What led to a prompt: what the agent was told last, by whom, and what it said since.

import { call } from "./api.js";
import { h } from "./dom.js";
import { shown } from "./letters.js";
import { withoutMarks } from "./markdown.js";
import { state } from "./state.js";
import { t } from "./words.js";

/** How long an answer waits at most for what led to the prompt. */
const LED_WITHIN = 2000;
/** How long the client may take to write what led to it, until that is looked for again. */
const LED_AGAIN = 500;

/** What was last asked of the agent, and what it said last: why the call came. */
export function ledToIt(ask) {
  const place = h("div", { class: "led", "aria-busy": "true" });
  const filled = () => place.removeAttribute("aria-busy");
  setTimeout(filled, LED_WITHIN);
  const look = async (left) => {
    const [{ entries }, events] = await Promise.all([
      shared(`/api/v1/sessions/${ask.session}/history?limit=50`).catch(() => ({ entries: [] })),
      shared(`/api/v1/events?session=${ask.session}&limit=50`).catch(() => []),
    ]);
    const line = (name, text) => text && h("p", { class: "small" }, h("span", null, t("of", { name })), h("q", null, plainWords(shown(text)).slice(0, 500)));
    const asked = entries.findIndex((entry) => entry.call && entry.call.call === ask.tool_use_id);
    const before = asked < 0 ? entries : entries.slice(0, asked);
    // At its own prompt, or by an event, which a transcript may not have: whichever came last. Words of before that lead to nothing here.
    const from = before.findLastIndex((entry) => entry.user?.text || entry.event);
    const told = before[from];
    const given = events.filter((event) => event.delivered_at <= ask.at).sort((a, b) => a.delivered_at - b.delivered_at).at(-1);
    const isLater = given?.delivered_at > (told?.at ?? 0);
    const since = isLater ? given.delivered_at : 0;
    const words = before.slice(from + 1).findLast((entry) => entry.text?.text && !entry.text.agent && entry.at >= since)?.text.text;
    const source = isLater ? given.id : told?.event?.event;
    const event = source && await call("GET", `/api/v1/events/${source}`).catch(() => undefined);
    // What somebody else wrote is no word of the one who reads this.
    const who = event && event.sender !== state.me?.name ? t("wrote", { name: shown(event.sender) }) : t("lastPrompt");
    place.replaceChildren(...[line(who, event?.text ?? told?.user?.text), line(t("lastWords"), words)].filter(Boolean));
    // The client may write the call, and what it said before it, a moment after it has asked.
    if (asked >= 0 || !ask.tool_use_id || left === 0) return;
    await new Promise((resolve) => setTimeout(resolve, LED_AGAIN));
    if (place.isConnected) await look(left - 1);
  };
  look(2).then(filled, filled);
  return place;
}

/** By path: what was asked for within the last moment. An agent may have many prompts open, and all begin with the same. */
const recent = new Map();
const RECENT_FOR = 300;

function shared(path) {
  if (!recent.has(path)) {
    recent.set(path, call("GET", path));
    setTimeout(() => recent.delete(path), RECENT_FOR);
  }
  return recent.get(path);
}

/** Markdown on one line: its fences and marks would be read as part of what was said. */
const plainWords = (text) => withoutMarks(text.replace(/^\s*(?:```|~~~).*$/gm, "")).replace(/\s+/g, " ").trim();
