// The bar that says how many prompts wait out of sight, in every view and wherever someone has scrolled to. It leads to them.

import { h } from "./dom.js";
import { leftOut } from "./prompts.js";
import { isInSight, toTop } from "./sight.js";
import { openAsks } from "./state.js";
import { t } from "./words.js";

/** By code. */
const cards = () => new Map([...document.querySelectorAll(".prompt")].map((card) => [card.dataset.code, card]));

export function waitingBar() {
  /** The cards of those that are out of sight; undefined for one that has none in this view. */
  const hidden = () => {
    const drawn = cards();
    const out = openAsks().filter((ask) => (drawn.has(ask.code) ? !isInSight(drawn.get(ask.code)) : !leftOut.has(ask.id)));
    return out.map((ask) => drawn.get(ask.code));
  };
  const go = (event) => {
    const card = hidden().find(Boolean);
    if (!card) return; // it is on another view: the link leads there
    event.preventDefault();
    toTop(card);
  };
  const element = h("a", { class: "elsewhere", href: "#/", hidden: true, onclick: go });
  const draw = () => {
    const waiting = hidden();
    const { length } = waiting;
    element.hidden = length === 0;
    // What comes and goes as someone scrolls takes no place: nothing else moves by it.
    element.classList.toggle("over", waiting.every(Boolean));
    // Next to a prompt of this session it is to be told apart from it.
    const isOther = document.querySelector(".conversation .prompt") && !waiting.some(Boolean);
    const isMore = length < openAsks().length - leftOut.size;
    const words = t(isOther ? "otherElsewhere" : isMore ? (length === 1 ? "oneMoreElsewhere" : "moreElsewhere") : length === 1 ? "oneElsewhere" : "manyElsewhere", { n: length });
    if (element.textContent !== words) element.textContent = words;
  };
  let isDue = false;
  const onScroll = () => {
    if (!element.isConnected) return removeEventListener("scroll", onScroll);
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => ((isDue = false), draw()));
  };
  addEventListener("scroll", onScroll, { passive: true });
  return { element, draw };
}
