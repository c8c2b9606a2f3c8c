// Whether all of what would run was in sight: a long command hides its end, a phone shows no scrollbar, and what stands above
// the screen was never there.

import { h } from "./dom.js";
import { button } from "./parts.js";
import { t } from "./words.js";

/** By box of a prompt: "opened" to its full height or scrolled to its "end". A card that is drawn anew knows it still. */
const looked = new Map();

/** Pixels that rounding may leave below the end. */
const SLACK = 2;

const below = (box) => box.scrollHeight - box.clientHeight - box.scrollTop;
const linesBelow = (box) => Math.ceil(below(box) / (Number.parseFloat(getComputedStyle(box).lineHeight) || 16));
const moreBelow = (n) => t(n === 1 ? "moreLine" : "moreLines", { n });

/** Says at each box of the card how much is out of sight. `unseen()` is that in words, or nothing; `open()` shows all. */
export function watchWhole(card, id) {
  const boxes = [...card.querySelectorAll("pre.code, .plan")].filter((box) => !box.closest("details"));
  const watched = boxes.map((box, number) => watchBox(box, `${id}-${number}`));
  const hiding = () => watched.filter((each) => each.isUnseen());
  const lines = () => hiding().reduce((sum, { box }) => sum + linesBelow(box), 0);
  return {
    unseen: () => (hiding().length === 0 ? undefined : lines() > 0 ? moreBelow(lines()) : t("beginningUnseen")),
    open: () => hiding().reverse().forEach((each) => each.open()),
  };
}

/** Boxes whose beginning was on the screen. */
const begun = new Set();
const keys = new WeakMap();
const beginnings = new IntersectionObserver((seen) => {
  // Between the bars at the top and the lower edge.
  for (const { target, isIntersecting } of seen) if (isIntersecting) begun.add(keys.get(target));
}, { rootMargin: "-56px 0px 0px 0px" });

function watchBox(box, key) {
  const isUnseen = () => !begun.has(key) || (!looked.has(key) && below(box) > SLACK);
  const words = h("span", { id: `below-${key}` });
  const open = () => {
    looked.set(key, "opened");
    update();
    box.scrollIntoView({ block: "start" });
    // The button is gone: whoever uses the keyboard goes on in the text.
    box.focus({ preventScroll: true });
  };
  const note = h("p", { class: "below", hidden: true }, words, " ", button("showAll", "quiet", open));
  const update = () => {
    box.classList.toggle("opened", looked.get(key) === "opened");
    const isCut = below(box) > SLACK;
    box.classList.toggle("faded", isCut);
    note.hidden = !isCut;
    if (isCut) words.textContent = moreBelow(linesBelow(box));
  };
  const beginning = h("span", { class: "beginning" });
  keys.set(beginning, key);
  beginnings.observe(beginning);
  box.before(beginning);
  box.setAttribute("aria-describedby", words.id);
  box.after(note);
  box.addEventListener("scroll", () => {
    if (below(box) <= SLACK && !looked.has(key)) looked.set(key, "end");
    update();
  });
  // Only what is laid out has a height: this tells of the first time, too.
  new ResizeObserver(update).observe(box);
  return { box, isUnseen, open };
}
