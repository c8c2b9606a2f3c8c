// A conversation is followed to its end for as long as its reader is there. Whoever scrolls up stays where they read, and
// is offered the way back.

import { h } from "./dom.js";
import { sight, toTop } from "./sight.js";
import { t } from "./words.js";

/** Pixels from the end within which a reader is at it. */
const NEAR = 24;

/** `toNewest()` draws the newest part; `scrolled(isUp)` is told of every scroll. */
export function followEnd(element, { toNewest, scrolled }) {
  let follows = true;
  let last = scrollY; // where the page was scrolled to when it was last looked at
  let tall = 0; // and how tall it was then
  let told = scrollY; // and when `scrolled` was last told
  let seen = ""; // what was the newest when the reader was last at the end
  let newest = "";
  let showsNewest = true;
  const begun = new Set(); // tall prompts whose head was shown
  /** The first open prompt, where not all of it fits between the head and the box to write in. */
  const firstTall = () => {
    const card = element.parentElement?.querySelector(".prompt");
    if (!card) return undefined;
    const { from, to } = sight();
    if (card.offsetHeight > to - from) return card;
    // What was seen whole, and grows by what its reader opens in it, does not go back to its head.
    begun.add(card.dataset.code);
    return undefined;
  };
  const isNear = (pixels) => scrollY + innerHeight >= document.documentElement.scrollHeight - pixels;
  const jump = h("button", { type: "button", class: "jump", hidden: true, "data-action": "jump", onclick: () => toEnd() });

  const draw = () => {
    // Below the last message stands nothing but a prompt: whoever reads that has seen the message, and is where it is.
    const isPast = showsNewest && element.getBoundingClientRect().bottom <= sight().to;
    if (follows || isPast) seen = newest;
    jump.hidden = follows || isPast;
    jump.textContent = `↓ ${t(newest === seen ? "toNewest" : "newBelow")}`;
  };
  const isAsTall = () => tall === document.documentElement.scrollHeight;
  const note = () => {
    last = scrollY;
    tall = document.documentElement.scrollHeight;
  };
  const look = () => {
    // What shrinks or grows moves the page as well: an item has its real size only once it comes near the screen, and the
    // browser then keeps what is in sight in its place. Whoever scrolls moves a page that stays as tall as it was.
    if (showsNewest && isNear(NEAR)) follows = true;
    else if (scrollY < last && isAsTall()) follows = false;
    note();
  };
  /** To the end; where a tall prompt waits there, to its head first. Who has begun to read it scrolls by themselves. */
  const go = (isWanted) => {
    const card = firstTall();
    const isNew = card && !begun.has(card.dataset.code);
    if (isNew) {
      begun.add(card.dataset.code);
      toTop(card);
    } else if (!card || isWanted) scrollTo(0, document.documentElement.scrollHeight);
    told = scrollY;
    note();
  };
  const stick = () => {
    look();
    if (follows) go(false);
    draw();
  };
  const toEnd = () => {
    toNewest();
    follows = true;
    go(true);
    draw();
  };
  const onScroll = () => {
    const isUp = scrollY < told;
    told = scrollY;
    look();
    scrolled(isUp);
    draw();
  };
  // Cards, pictures and texts that come later grow without being drawn anew.
  const sizes = new ResizeObserver(stick);
  sizes.observe(document.documentElement);
  sizes.observe(element);
  addEventListener("scroll", onScroll, { passive: true });
  return {
    jump, stick, toEnd, isNear,
    /** Before something is drawn: afterwards nobody knows whether it was the reader who scrolled. */
    look,
    /** `last` names what is the newest now. */
    changed: (last, isNewest) => ((newest = last), (showsNewest = isNewest), stick()),
    moved: () => (note(), (told = scrollY)),
    leave: () => (follows = false),
    stop: () => (sizes.disconnect(), removeEventListener("scroll", onScroll)),
  };
}
