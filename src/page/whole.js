// Whether all of what would run was on the screen: a long command hides its end, a phone shows no scrollbar, and what stands
// above the screen, or behind the box to write in, was never there.

import { h } from "./dom.js";
import { button } from "./parts.js";
import { sight, toTop } from "./sight.js";
import { t } from "./words.js";

/** Boxes of prompts that were opened to their full height. A card that is drawn anew knows it still. */
const opened = new Set();
/** By box: the parts of it that were on the screen, [from, to] of its height, apart from each other and in order. */
const seen = new Map();
/** The boxes in the document, by their key. */
const boxes = new Map();

/** Pixels that rounding may leave out. */
const SLACK = 2;
/** What moves without being scrolled or growing is looked at again after this many milliseconds. */
const LOOKED_AT_EVERY = 200;

const below = (box) => box.scrollHeight - box.clientHeight - box.scrollTop;
const linesIn = (box, pixels) => Math.ceil(pixels / (Number.parseFloat(getComputedStyle(box).lineHeight) || 16));
const moreBelow = (n) => t(n === 1 ? "moreLine" : "moreLines", { n });

/** Says at each box of the card how much is out of sight. `unseen()` is that in words, or nothing; `open()` shows all. */
export function watchWhole(card, id) {
  const found = [...card.querySelectorAll("pre.code, .plan, .given")].filter((box) => !box.closest("details"));
  const watched = found.map((box, number) => watchBox(box, `${id}-${number}`));
  const tables = [...card.querySelectorAll(".plan .wide")].map((box, number) => watchSides(box, `${id}-wide-${number}`));
  const hiding = () => (look(), [...watched, ...tables].filter((each) => each.gaps().length > 0));
  return {
    unseen: () => hiding()[0]?.inWords(),
    open: () => hiding().reverse().forEach((each) => each.open()),
  };
}

/** By box: `measure()` reads, and `draw(what it read)` writes. All are read before any is written: a layout for each would be one too many. */
const measured = new WeakMap();
const sizes = new ResizeObserver((entries) => {
  const grown = entries.map(({ target }) => measured.get(target)).filter(Boolean);
  const read = grown.map(({ measure }) => measure());
  grown.forEach(({ draw }, number) => draw(read[number]));
  lookSoon();
});

function watchBox(box, key) {
  const words = h("span", { id: `below-${key}` });
  const left = Number(box.dataset.left ?? 0);
  const open = () => {
    opened.add(key);
    box.classList.add("opened");
    update();
    show(box);
  };
  const note = h("p", { class: "below", hidden: true }, words, " ", button("showAll", "quiet", open));
  const measure = () => (below(box) > SLACK ? linesIn(box, below(box)) : 0);
  const draw = (lines) => {
    box.classList.toggle("faded", lines > 0);
    note.hidden = lines === 0;
    if (lines > 0) words.textContent = moreBelow(lines);
  };
  const update = () => {
    draw(measure());
    lookSoon();
  };
  box.classList.toggle("opened", opened.has(key));
  box.setAttribute("aria-describedby", words.id);
  box.after(note);
  if (left) box.after(h("p", { class: "below" }, t("notDrawn", { n: left })));
  box.addEventListener("scroll", update);
  measured.set(box, { measure, draw });
  // Only what is laid out has a height: this tells of the first time, too.
  sizes.observe(box);
  watch(box, key, (from, to) => {
    const { top, bottom } = box.getBoundingClientRect();
    const part = (edge) => (edge - top + box.scrollTop) / box.scrollHeight;
    return [part(Math.max(top, from)), part(Math.min(bottom, to))];
  });
  // What is not drawn was not seen.
  const gaps = () => [...gapsOf(key, box.scrollHeight), ...(left ? [[box.scrollHeight, Infinity]] : [])];
  const inWords = () => {
    if (left) return t("notDrawn", { n: left });
    const [[first, to], ...more] = gaps();
    if (first <= SLACK) return t("beginningUnseen");
    const isEnd = more.length === 0 && to >= box.scrollHeight - SLACK;
    const lines = linesIn(box, gaps().reduce((sum, [start, end]) => sum + end - start, 0));
    return isEnd ? moreBelow(lines) : t("partUnseen");
  };
  return { gaps, inWords, open };
}

/** A table of a plan that is wider than the screen. */
function watchSides(box, key) {
  box.addEventListener("scroll", lookSoon);
  watch(box, key, (from, to) => {
    const { top, bottom } = box.getBoundingClientRect();
    // Of one that cannot be seen no column was.
    if (Math.min(bottom, to) <= Math.max(top, from)) return [0, 0];
    return [box.scrollLeft / box.scrollWidth, (box.scrollLeft + box.clientWidth) / box.scrollWidth];
  });
  return { gaps: () => gapsOf(key, box.scrollWidth), inWords: () => t("columnsUnseen"), open: () => show(box) };
}

/** Whoever uses the keyboard goes on in the text. */
function show(box) {
  toTop(box);
  box.focus({ preventScroll: true });
}

let timer;

function watch(box, key, part) {
  boxes.set(key, { box, part });
  timer ??= setInterval(look, LOOKED_AT_EVERY);
}

let isDue = false;

function lookSoon() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => ((isDue = false), look()));
}

/** Notes what is on the screen now. */
function look() {
  if (document.hidden || boxes.size === 0) return;
  const { from, to } = sight();
  for (const [key, { box, part }] of boxes) {
    if (!box.isConnected) boxes.delete(key);
    else if (box.checkVisibility()) add(key, part(from, to));
  }
  if (boxes.size === 0) timer = clearInterval(timer);
}

addEventListener("scroll", lookSoon, { passive: true });

function add(key, [from, to]) {
  if (!(to > from)) return;
  const before = seen.get(key) ?? [];
  if (before.some(([start, end]) => start <= from && end >= to)) return;
  const apart = before.filter(([start, end]) => end < from || start > to);
  const joined = before.filter((each) => !apart.includes(each)).concat([[from, to]]);
  const whole = [Math.min(...joined.map(([start]) => start)), Math.max(...joined.map(([, end]) => end))];
  seen.set(key, [...apart, whole].sort(([a], [b]) => a - b));
}

/** What of a box of this length was not on the screen, in pixels. */
function gapsOf(key, length) {
  const parts = (seen.get(key) ?? []).map(([from, to]) => [from * length, to * length]);
  const ends = [0, ...parts.map(([, to]) => to)];
  const starts = [...parts.map(([from]) => from), length];
  return ends.map((end, number) => [end, starts[number]]).filter(([from, to]) => to - from > SLACK);
}
