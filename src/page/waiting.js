// The bar that says how many prompts wait out of sight, in every view and wherever someone has scrolled to. It leads to them.

import { h } from "./dom.js";
import { sight, toTop } from "./sight.js";
import { openAsks } from "./state.js";
import { t } from "./words.js";

/** Pixels of a card that must be in sight for it to be seen. */
const ENOUGH = 80;

const cardOf = (ask) => document.querySelector(`.prompt[data-code="${CSS.escape(ask.code)}"]`);

function isInSight(card) {
  const { top, bottom, height } = card.getBoundingClientRect();
  const { from, to } = sight();
  return Math.min(bottom, to) - Math.max(top, from) >= Math.min(ENOUGH, height);
}

export function waitingBar() {
  const hidden = () => openAsks().filter((ask) => !(cardOf(ask) && isInSight(cardOf(ask))));
  const go = (event) => {
    const card = hidden().map(cardOf).find(Boolean);
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
    element.classList.toggle("over", waiting.every(cardOf));
    const words = length === 1 ? t("oneElsewhere") : t("manyElsewhere", { n: length });
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
