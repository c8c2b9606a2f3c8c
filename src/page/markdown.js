// Markdown as agents write it, drawn as elements: headings, lists in lists, quotes, code, tables. Nothing is read as
// HTML, and only http, https and mailto links can be followed.

import { h } from "./dom.js";
import { shown } from "./letters.js";

/** What is longer, or has more parts, is shown as it was written: so many elements would keep the page from everything else. */
const LONGEST = 200_000;
const MOST_LINES = 5000;
const MOST_BOXES = 100;

const asWritten = (text) => h("div", { class: "markdown" }, h("pre", { class: "code", tabindex: "0" }, shown(text)));

/** For a line or two of it: marks say nothing there. */
export const withoutMarks = (text) => text.replace(/\*\*|`|(?<=^|\s)#+ /g, "");

export function markdown(text) {
  const boxes = text.match(/^ {0,3}(?:```|~~~)|^[ |:-]*-[ |:-]*$/gm)?.length ?? 0;
  if (text.length > LONGEST || boxes > 2 * MOST_BOXES || text.split("\n", MOST_LINES + 1).length > MOST_LINES) return asWritten(text);
  const lines = shown(text).split("\n").map((line) => line.replace(/^[ \t]+/, (blanks) => blanks.replaceAll("\t", "    ")));
  return h("div", { class: "markdown" }, blocks(lines, 0));
}

function blocks(lines, depth) {
  const drawn = [];
  for (let at = 0; at < lines.length; ) {
    const line = lines[at];
    const fence = line.match(FENCE);
    const heading = line.match(/^ {0,3}(#{1,6})\s+(.*)/);
    if (fence) {
      let stop = at + 1;
      while (stop < lines.length && !closes(lines[stop], fence[1])) stop += 1;
      // What stands behind the fence is part of the text, and is shown.
      if (fence[2].trim()) drawn.push(h("p", { class: "small lang" }, fence[2].trim()));
      drawn.push(h("pre", { class: "code", tabindex: "0" }, lines.slice(at + 1, stop).join("\n")));
      at = stop + 1;
    } else if (heading) {
      drawn.push(h(`h${Math.min(heading[1].length + 2, 6)}`, null, inline(heading[2])));
      at += 1;
    } else if (RULE.test(line)) {
      drawn.push(h("hr"));
      at += 1;
    } else if (BULLET.test(line) && depth < DEEPEST) {
      const { element, end } = list(lines, at, depth);
      drawn.push(element);
      at = end;
    } else if (line.startsWith(">")) {
      const quoted = [];
      for (; at < lines.length && lines[at].startsWith(">"); at += 1) quoted.push(lines[at].replace(/^>\s?/, ""));
      drawn.push(h("blockquote", null, inline(quoted.join("\n"))));
    } else if (isTable(lines, at)) {
      let stop = at + 2;
      while (stop < lines.length && lines[stop].includes("|")) stop += 1;
      drawn.push(table(lines.slice(at, stop)));
      at = stop;
    } else if (line.trim() === "") {
      at += 1;
    } else {
      const paragraph = [];
      for (; at < lines.length && (paragraph.length === 0 || !(ends(lines[at], depth) || isTable(lines, at))); at += 1) paragraph.push(lines[at].trim());
      drawn.push(h("p", null, inline(paragraph.join("\n"))));
    }
  }
  return drawn;
}

/** Lists in lists; what is deeper is text. */
const DEEPEST = 12;
const BULLET = /^( *)([-*+]|\d{1,9}[.)])(?: +|$)/;
const RULE = /^ {0,3}([-*_])(?: *\1){2,} *$/;
/** An item of a list of tasks, done or not. */
const TASK = /^\[([ xX])\] +/;
const indentOf = (line) => line.length - line.trimStart().length;

/** What a line begins that is no more of the paragraph before it. */
const ends = (line, depth) => line.trim() === "" || FENCE.test(line) || RULE.test(line) || /^ {0,3}(#{1,6}\s|>)/.test(line) || (depth < DEEPEST && BULLET.test(line));

/** Items with all that is written below them: a number is the one that was written, whatever stands between. */
function list(lines, at, depth) {
  const [, { length: base }, marker] = lines[at].match(BULLET);
  const isOrdered = /\d/.test(marker);
  const items = [];
  let end = at;
  while (end < lines.length) {
    const found = lines[end].match(BULLET);
    // One that is further in stands below the item before it, and was taken with that.
    if (!found || found[1].length < base || /\d/.test(found[2]) !== isOrdered || RULE.test(lines[end])) break;
    const inner = Math.min(found[0].length, found[1].length + found[2].length + 4);
    const own = [lines[end].slice(found[0].length)];
    end += 1;
    while (end < lines.length && belongs(lines, end, base)) {
      own.push(lines[end].slice(Math.min(indentOf(lines[end]), inner)));
      end += 1;
    }
    own[0] = own[0].replace(TASK, (_, mark) => (mark === " " ? "☐ " : "☑ "));
    const parts = blocks(own, depth + 1);
    // A single line of words needs no paragraph of its own.
    const words = parts[0]?.tagName === "P" && !parts[0].className ? [...parts[0].childNodes] : parts.slice(0, 1);
    items.push(h("li", { value: isOrdered && Number.parseInt(found[2], 10) }, words, parts.slice(1)));
  }
  return { element: h(isOrdered ? "ol" : "ul", null, items), end };
}

/** Whether a line is part of the item before it: further in, blank with more of it behind, or words that go on. */
function belongs(lines, at, base) {
  const line = lines[at];
  if (line.trim() !== "") return indentOf(line) >= base + 2 || (lines[at - 1].trim() !== "" && !ends(line, 0));
  const next = lines.slice(at, at + MOST_BLANK).find((other) => other.trim() !== "");
  return next !== undefined && indentOf(next) >= base + 2;
}

/** Blank lines that may stand in an item. */
const MOST_BLANK = 10;

/** Behind backticks no other backtick stands on the line. */
const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)$/;

/** A line that is nothing but the same fence, or a longer one. */
function closes(line, fence) {
  const only = line.replace(/^ {0,3}/, "").trimEnd();
  return only.length >= fence.length && only === fence[0].repeat(only.length);
}

/** A line of names, then one of dashes with as many columns. */
const isTable = (lines, at) =>
  lines[at].includes("|") && /^\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?$/.test((lines[at + 1] ?? "").trim()) && cells(lines[at + 1]).length === cells(lines[at]).length;

/** A `|` in code, or behind a `\\`, is part of what stands in the cell. */
const cells = (line) => (line.trim().replace(/^\|/, "").replace(/\|$/, "").match(/(?:`[^`]*`|\\.|[^|\\])+|(?<=\|)(?=\|)/g) ?? [""]).map((cell) => cell.trim().replaceAll("\\|", "|"));

function table([names, dashes, ...rows]) {
  const sides = cells(dashes).map((dash) => ({ "::": "center", "-:": "end" })[dash.at(0) + dash.at(-1)]);
  const line = (tag) => (text) => h("tr", null, cells(text).map((cell, column) => h(tag, { class: sides[column] }, inline(cell))));
  // It may be wider than the screen.
  return h("div", { class: "wide", tabindex: "0" }, h("table", null, h("thead", null, line("th")(names)), h("tbody", null, rows.map(line("td")))));
}

/** Each part is looked at once, also in a text that is made to take long: none begins in another of its kind. */
const INLINE = /(`+)|\*\*([^*\n]+)\*\*|(?<![\w*])\*([^*\s](?:[^*\n]*[^*\s])?)\*(?![\w*])|\[([^[\]\n]{1,300})\]\(([^()\s]{1,2000})\)|(https?:\/\/[^\s<>"')\]]*[^\s<>"')\].,;:!?])|\\([\\`*_[\]()#+.!~|>-])|~~([^~\n]+)~~/g;

/** Finds the next run of as many backticks. Asked for places that go up. */
function nextTicks(text) {
  const runs = new Map();
  for (const { 0: { length }, index } of text.matchAll(/`+/g)) {
    if (!runs.has(length)) runs.set(length, { places: [], next: 0 });
    runs.get(length).places.push(index);
  }
  return (length, after) => {
    const run = runs.get(length);
    while (run.places[run.next] <= after) run.next += 1;
    return run.places[run.next];
  };
}

function inline(text) {
  const parts = [];
  const next = nextTicks(text);
  let from = 0;
  INLINE.lastIndex = 0;
  for (let match; (match = INLINE.exec(text)); ) {
    const [whole, tick, bold, italic, label, target, bare, escaped, gone] = match;
    let end = match.index + whole.length;
    if (tick) {
      const closing = next(tick.length, match.index);
      // Without its like it is no code.
      if (closing === undefined) continue;
      end = closing + tick.length;
    }
    parts.push(text.slice(from, match.index));
    from = end;
    INLINE.lastIndex = end;
    if (tick) parts.push(h("code", null, text.slice(match.index + tick.length, end - tick.length)));
    else if (bold !== undefined) parts.push(h("strong", null, bold));
    else if (italic !== undefined) parts.push(h("em", null, italic));
    else if (escaped !== undefined) parts.push(escaped);
    else if (gone !== undefined) parts.push(h("del", null, gone));
    else parts.push(link(label ?? bare, target ?? bare, whole));
  }
  parts.push(text.slice(from));
  return parts;
}

/** A link says where it leads: its text was written by the agent. */
function link(label, target, written) {
  let url;
  try {
    url = new URL(target);
  } catch {
    return written;
  }
  if (!["http:", "https:", "mailto:"].includes(url.protocol)) return written;
  // An address may name one host before an @ and lead to another, or be written in letters that look like others.
  const isPlain = label === target && /^(?:https?:\/\/|mailto:)/.test(target) && target.split(/[/?#:]+/)[1] === (url.hostname || url.pathname);
  const shows = isPlain ? label : `${label} (${url.host || url.pathname})`;
  return h("a", { href: url.href, rel: "noopener noreferrer nofollow", target: "_blank" }, shows);
}
