// Markdown as agents write it, drawn as elements: headings, lists, quotes, code, tables. Nothing is read as
// HTML, and only http, https and mailto links can be followed.

import { h, shown } from "./dom.js";

export function markdown(text) {
  const blocks = [];
  const lines = shown(text).split("\n");
  for (let at = 0; at < lines.length; ) {
    const line = lines[at];
    const fence = line.match(/^ {0,3}(```+|~~~+)/);
    if (fence) {
      const end = lines.findIndex((other, number) => number > at && other.trim().startsWith(fence[1]));
      const stop = end < 0 ? lines.length : end;
      blocks.push(h("pre", { class: "code", tabindex: "0" }, lines.slice(at + 1, stop).join("\n")));
      at = stop + 1;
      continue;
    }
    const heading = line.match(/^(#{1,6})\s+(.*)/);
    if (heading) {
      blocks.push(h(`h${Math.min(heading[1].length + 2, 6)}`, null, inline(heading[2])));
      at += 1;
      continue;
    }
    const bullet = /^\s*(?:[-*+]|\d+[.)])\s+/;
    if (bullet.test(line)) {
      const items = [];
      const ordered = /^\s*\d/.test(line);
      for (; at < lines.length && bullet.test(lines[at]); at += 1) items.push(h("li", null, inline(lines[at].replace(bullet, ""))));
      blocks.push(h(ordered ? "ol" : "ul", null, items));
      continue;
    }
    if (line.startsWith(">")) {
      const quoted = [];
      for (; at < lines.length && lines[at].startsWith(">"); at += 1) quoted.push(lines[at].replace(/^>\s?/, ""));
      blocks.push(h("blockquote", null, inline(quoted.join("\n"))));
      continue;
    }
    if (isTable(lines, at)) {
      let stop = at + 2;
      while (stop < lines.length && lines[stop].includes("|")) stop += 1;
      blocks.push(table(lines.slice(at, stop)));
      at = stop;
      continue;
    }
    if (line.trim() === "") {
      at += 1;
      continue;
    }
    const paragraph = [];
    const ends = (other) => other.trim() === "" || /^ {0,3}(```|~~~|#{1,6}\s|>)/.test(other) || bullet.test(other);
    for (; at < lines.length && (paragraph.length === 0 || !(ends(lines[at]) || isTable(lines, at))); at += 1) paragraph.push(lines[at]);
    blocks.push(h("p", null, inline(paragraph.join("\n"))));
  }
  return h("div", { class: "markdown" }, blocks);
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

const INLINE = /(`+)([^`]+?)\1|\*\*([^*\n]+?)\*\*|\*([^*\s][^*\n]*?)\*|\[([^\]\n]{1,300})\]\(([^()\s]{1,2000})\)|(https?:\/\/[^\s<>"')\]]+)/g;

function inline(text) {
  const parts = [];
  let from = 0;
  for (const match of text.matchAll(INLINE)) {
    parts.push(text.slice(from, match.index));
    from = match.index + match[0].length;
    const [, , code, bold, italic, label, target, bare] = match;
    if (code !== undefined) parts.push(h("code", null, code));
    else if (bold !== undefined) parts.push(h("strong", null, bold));
    else if (italic !== undefined) parts.push(h("em", null, italic));
    else parts.push(link(label ?? bare, target ?? bare, match[0]));
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
  const shows = label === target ? label : `${label} (${url.host || url.pathname})`;
  return h("a", { href: url.href, rel: "noopener noreferrer nofollow", target: "_blank" }, shows);
}
