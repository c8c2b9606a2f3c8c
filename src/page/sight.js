// The part of the screen in which something can be read: below the bars at the top, above the box to write in.

const BARS = ".bars, .head > .top";

/** From where to where, in pixels of the window. A phone's keyboard takes its part, too. */
export function sight() {
  const bottoms = [...document.querySelectorAll(BARS)].map((bar) => bar.getBoundingClientRect().bottom);
  const dock = document.querySelector(".dock")?.getBoundingClientRect().top ?? innerHeight;
  const { offsetTop = 0, height = innerHeight } = window.visualViewport ?? {};
  return { from: Math.max(offsetTop, ...bottoms), to: Math.min(innerHeight, dock, offsetTop + height) };
}

/** Pixels between the bars and what is brought below them. */
const MARGIN = 8;

/** Scrolls until the element begins where it can be read. */
export function toTop(element) {
  const go = () => scrollBy(0, element.getBoundingClientRect().top - sight().from - MARGIN);
  go();
  // The bars may have come with it.
  go();
}

/** Pixels of a card that must be in sight for it to be seen. */
const ENOUGH = 80;

/** Whether enough of a card can be read. */
export function isInSight(card) {
  const { top, bottom, height } = card.getBoundingClientRect();
  const { from, to } = sight();
  return Math.min(bottom, to) - Math.max(top, from) >= Math.min(ENOUGH, height) - 1;
}
