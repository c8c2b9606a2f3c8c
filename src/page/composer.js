// The box in which someone writes to a session, with files to go along, and when it will be read.

import { Refused, call, upload } from "./api.js";
import { h } from "./dom.js";
import { shown } from "./letters.js";
import { offeredModes } from "./modes.js";
import { button, hasKeyboard, row } from "./parts.js";
import { may, standing, state, successor, tellSession, why } from "./state.js";
import { size, t } from "./words.js";

const MOST_FILES = 10;
const MOST_BYTES = 20 << 20;
/** What was typed and not sent, by session: it is there again when someone comes back. */
const drafts = new Map();

/** After so many milliseconds it is said that a message is still on its way. */
const SLOW = 1500;

/** When a message will be read, as far as that is known. */
function whenRead({ wakes }, what) {
  if (what === "ended" || what === "away") return what === "ended" ? "readEnded" : "readLater";
  // On a channel that nothing was answered through.
  if (wakes === undefined || wakes === null) return "readChannel";
  if (what === "paused") return "readPaused";
  return what === "idle" ? (wakes ? "readNow" : "readIdle") : "readNext";
}

/** `orders` says where an order to the session was refused. */
export function composer(id, sent, orders) {
  const notice = h("p", { class: "notice", role: "status" });
  const text = h("textarea", { rows: "2", "aria-label": t("talk"), placeholder: t("talk"), maxlength: "900000", value: drafts.get(id) ?? "" });
  const when = h("small", { class: "hint" });
  const chips = h("ul", { class: "chips" });
  const picker = h("input", { type: "file", multiple: true, hidden: true, onchange: () => (add(picker.files), (picker.value = "")) });
  let files = [];

  const add = (more) => {
    for (const file of more) {
      if (files.length >= MOST_FILES) notice.textContent = t("tooManyFiles", { n: MOST_FILES });
      else if (file.size > MOST_BYTES) notice.textContent = t("tooLarge", { name: shown(file.name), most: size(MOST_BYTES) });
      else files.push(file);
    }
    drawChips();
  };
  const drawChips = () => {
    chips.replaceChildren(...files.map((file) => h("li", null, shown(file.name), h("small", null, ` ${size(file.size)}`),
      h("button", { type: "button", class: "quiet", "aria-label": t("takeAway", { name: file.name }), onclick: () => ((files = files.filter((other) => other !== file)), drawChips()) }, "×"))));
  };
  const send = async () => {
    const message = text.value.trim();
    if (!message && files.length === 0) return;
    // What is written meanwhile is another message.
    const going = files;
    put("", []);
    sending.disabled = true;
    notice.textContent = going.length ? t("uploading") : "";
    const isSlow = setTimeout(() => (notice.textContent = t("sendingNow", { text: shown(message.slice(0, 80)) })), SLOW);
    try {
      const ids = [];
      for (const file of going) ids.push((await upload(file)).id);
      // Said twice because the first answer was lost, it is still one message.
      unsure = unsure?.message === message ? unsure : { message, key: crypto.randomUUID?.() };
      await call("POST", "/api/v1/events", { text: message, session: id, ...(ids.length && { files: ids }) }, { idempotencyKey: ids.length ? undefined : unsure.key });
      unsure = undefined;
      notice.textContent = "";
      sent();
    } catch (error) {
      if (error instanceof Refused) unsure = undefined;
      put([message, text.value].filter(Boolean).join("\n"), [...going, ...files]);
      notice.textContent = why(error);
    }
    clearTimeout(isSlow);
    sending.disabled = false;
    text.focus();
  };
  /** The message of which it is not known whether it arrived. */
  let unsure;
  const put = (words, attached) => {
    text.value = words;
    files = attached;
    if (words) drafts.set(id, words);
    else drafts.delete(id);
    drawChips();
  };
  const sending = button("send", "primary", send);
  text.addEventListener("input", () => drafts.set(id, text.value));
  text.addEventListener("keydown", (event) => {
    // Out of the box, where a letter answers the first prompt.
    if (event.key === "Escape" && !event.isComposing) text.blur();
    // Enter that ends a word of an input method is no Enter.
    if (event.key !== "Enter" || event.isComposing || event.keyCode === 229) return;
    // On a phone it begins a line, and the button sends.
    if (!event.metaKey && !event.ctrlKey && (event.shiftKey || !hasKeyboard())) return;
    event.preventDefault();
    if (!sending.disabled) send();
  });
  text.addEventListener("paste", (event) => event.clipboardData?.files.length && add(event.clipboardData.files));
  // Where the thumb is, and in sight wherever someone reads.
  const interrupt = button("interrupt", "quiet", () => tellSession(id, orders, "interrupt"));
  const over = h("p", { class: "hint", hidden: true });
  const writing = h("div", null, chips, text, row(when, picker, button("attach", "quiet", () => picker.click()), interrupt, sending));
  const element = h("div", { class: "composer" }, notice, over, writing);
  element.addEventListener("dragover", (event) => event.preventDefault());
  element.addEventListener("drop", (event) => (event.preventDefault(), add(event.dataTransfer.files)));
  const draw = () => {
    const session = state.sessions.get(id);
    const what = session && standing(session);
    const isOver = state.isReady && what === "ended" && !successor(id);
    const takesNone = Boolean(session?.takes_no_events);
    writing.hidden = isOver || takesNone;
    interrupt.hidden = !(["working", "waiting"].includes(what) && session.driven && may("review"));
    over.hidden = !isOver && !takesNone;
    // As `continueIt` does.
    const losesMode = !takesNone && session?.mode && !offeredModes().includes(session.mode);
    over.textContent = t(takesNone ? "readNever" : "endedHow") + (losesMode ? ` ${t("endedMode", { mode: session.mode })}` : "");
    when.textContent = session ? [t(whenRead(session, what)), hasKeyboard() && t("enterSends")].filter(Boolean).join(" ") : "";
  };
  return { element, draw };
}
