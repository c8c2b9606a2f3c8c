// A button of a prompt answers only once it has stood in its place for a moment. Cards move up when another is answered:
// whoever was about to press, by key or by thumb, meant the card that was there before.

import { isInSight, toTop } from "./sight.js";
import { t } from "./words.js";

/** How long it must have stood, in milliseconds: longer than it takes to see that something has moved. */
const STOOD = 600;
const LOOKED_AT_EVERY = 100;
/** Pixels that rounding may move it by. */
const SLACK = 2;
const BUTTONS = ".prompt button[data-action]";

/** By button: where it is, and since when. */
const places = new WeakMap();
let shownSince = 0;
let timer;

/** Follows where the buttons are for as long as there are any. */
export function watchSteady() {
  timer ??= setInterval(look, LOOKED_AT_EVERY);
  look();
}

/** What grows or goes moves what is below, at once. */
const sizes = new ResizeObserver(look);
const measured = new WeakSet();

function measure(element) {
  if (measured.has(element)) return;
  measured.add(element);
  sizes.observe(element);
}

function look() {
  const buttons = document.querySelectorAll(BUTTONS);
  if (buttons.length === 0) timer = clearInterval(timer);
  for (const button of buttons) {
    const card = button.closest(".prompt");
    measure(card);
    measure(card.parentElement);
    if (isSteady(button)) button.removeAttribute("aria-disabled");
    else button.setAttribute("aria-disabled", "true");
  }
}

function isSteady(button) {
  const now = performance.now();
  const { left, top } = button.getBoundingClientRect();
  const known = places.get(button);
  const isOther = (before, after) => Math.abs(before - after) > SLACK;
  // Whoever scrolls moves it on the screen alone; what grows above while the screen goes along, in the document alone. Where
  // the document shrinks, the browser scrolls by itself.
  const height = document.documentElement.scrollHeight;
  const movedOnScreen = known && isOther(known.top, top);
  const movedInDocument = known && (isOther(known.below, top + scrollY) || isOther(known.height, height));
  const moved = !known || isOther(known.left, left) || (movedOnScreen && movedInDocument);
  // A card that is still being filled is about to move.
  const isFilled = !button.closest(".prompt").querySelector("[aria-busy=true]");
  const since = moved || !isFilled ? now : known.since;
  places.set(button, { left, top, below: top + scrollY, height, since });
  return now - Math.max(since, shownSince) >= STOOD;
}

/** A window that was behind another, or has just come up, was not looked at: the press was meant for what covered it. */
const shownAnew = () => ((shownSince = performance.now()), look());
document.addEventListener("visibilitychange", shownAnew);
addEventListener("focus", shownAnew);
addEventListener("pageshow", shownAnew);
document.addEventListener("click", (event) => {
  const button = event.target.closest?.(BUTTONS);
  if (!button || isSteady(button)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  button.closest(".prompt").querySelector(".notice").textContent = t("justMoved");
}, true);

/** A phone's keyboard takes half of the screen: what is written in a card stays in sight. */
window.visualViewport?.addEventListener("resize", () => {
  const { activeElement: box } = document;
  if (box?.matches(".prompt textarea, .prompt input")) box.scrollIntoView({ block: "nearest" });
});

/** A letter answers the first card: a allows, d denies. Not while someone types, and not what is out of sight. */
export function onLetter(event) {
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, textarea, select")) return;
  const action = { a: "allowOnce", d: "deny" }[event.key];
  const card = action && document.querySelector(".prompt");
  if (!card) return;
  // Of several cards the key means the first: whoever has scrolled past its head reads another.
  if (!isInSight(card.querySelector("header") ?? card)) {
    toTop(card);
    // It was not in sight until now.
    shownAnew();
  } else card.querySelector(`[data-action="${action}"]`)?.click();
}
