// The log, newest first: a sentence a record, with a search, a filter by what it is about, and the state of the chain.

import { call } from "./api.js";
import { h, moment } from "./dom.js";
import { respelled, shown } from "./letters.js";
import { button, row } from "./parts.js";
import { may, state, why } from "./state.js";
import { locale, sentence, t } from "./words.js";

const PAGE = 200;
/** Pixels from the top within which someone is at it. */
const AT_TOP = 200;
/** How long after it was last asked for what is new is asked for again, in milliseconds. */
const NOT_SOONER = 1500;
/** Pages that one search reads at most before it asks whether to go on. */
const MOST_PAGES = 10;
const ABOUT = ["", "ask", "event", "session", "person", "token"];

/** Tokens and devices are told of with the person whose they are. */
const ofCredentials = ({ subject, told }) => /^(?:person|token|device)\//.test(subject) && /\b(?:token|device)\b/.test(told.words);
const isAbout = (kind, line) => !kind || (kind === "token" ? ofCredentials(line) : line.subject.startsWith(`${kind}/`));

export function logView() {
  if (!may("admin")) return { element: h("section", null, h("h1", null, t("log")), h("p", { class: "notice" }, t("noLog"))), draw: () => {} };
  const list = h("ol", { class: "log" });
  const text = h("input", { type: "search", "aria-label": t("search"), placeholder: t("search") });
  const about = h("select", { "aria-label": t("about") }, ABOUT.map((kind) => h("option", { value: kind }, t(`about_${kind || "all"}`))));
  const details = h("input", { type: "checkbox" });
  const notice = h("p", { class: "notice", role: "status" });
  const chain = h("p", { class: "chain small", role: "status" });
  let lines = [];
  let isLoading = false;

  const load = async () => {
    const before = lines[0]?.seq;
    const place = before === undefined ? `last=${PAGE}` : `after=${Math.max(before - PAGE - 1, 0)}&limit=${Math.min(PAGE, before - 1)}`;
    const page = await call("GET", `/api/v1/log?words=true&${place}`);
    lines = [...page, ...lines];
    return page.length > 0;
  };
  /** Reads on until there is something to show, or the beginning is reached. */
  const more = async () => {
    if (isLoading) return;
    isLoading = true;
    notice.textContent = t("loading");
    try {
      const had = found().length;
      for (let pages = 0; pages < MOST_PAGES && (lines[0]?.seq ?? 2) > 1; pages += 1) {
        if (!(await load()) || found().length >= had + 30) break;
      }
      draw();
    } catch (error) {
      notice.textContent = why(error);
    }
    isLoading = false;
  };
  /** What has happened since, for as long as someone is at the top: nothing that is being read moves. */
  const newer = async () => {
    if (isLoading || lines.length === 0 || scrollY > AT_TOP || !getSelection().isCollapsed) return false;
    isLoading = true;
    // The whole page: what a line is about may be named in one before it.
    const page = await call("GET", `/api/v1/log?words=true&last=${PAGE}`).catch(() => []);
    isLoading = false;
    const [first, last] = [page[0]?.seq, lines.at(-1).seq];
    if (!(page.at(-1)?.seq > last)) return true;
    lines = first > last + 1 ? page : [...lines.filter(({ seq }) => seq < first), ...page];
    draw();
    return true;
  };
  const older = button("older", "quiet", more);
  const verify = async () => {
    chain.textContent = t("verifying");
    try {
      const state = await call("GET", "/api/v1/log/chain");
      chain.classList.toggle("bad", !state.ok);
      chain.textContent = state.ok
        ? t("chainOk", { n: state.records, head: state.head.slice(0, 16) })
        : t("chainBroken", { seq: state.seq, what: shown(state.what) });
    } catch (error) {
      chain.textContent = why(error);
    }
  };

  const fits = (line) =>
    (details.checked || line.told.weight !== "detail") &&
    isAbout(about.value, line) &&
    `${line.told.label ?? ""} ${line.told.words} ${sentence(line.told.words)} ${line.subject}`.toLowerCase().includes(text.value.trim().toLowerCase());
  const found = () => lines.filter(fits);
  function draw() {
    const days = new Map();
    for (const line of found().reverse()) {
      const day = new Date(line.at).toDateString();
      if (!days.has(day)) days.set(day, []);
      days.get(day).push(line);
    }
    const day = new Intl.DateTimeFormat(locale(), { dateStyle: "full" });
    list.replaceChildren(...[...days].flatMap(([, of]) => [h("li", { class: "day" }, day.format(of[0].at)), ...of.map(entry)]));
    older.hidden = !((lines[0]?.seq ?? 0) > 1);
    notice.textContent = days.size ? "" : t(older.hidden ? "nothingFound" : "nothingYet");
  }
  for (const control of [text, about, details]) control.addEventListener("input", () => (draw(), found().length < 10 && more()));

  const element = h("section", null,
    h("div", { class: "bar" }, h("h1", null, t("log")), button("verify", "quiet", verify)), chain,
    h("div", { class: "filters" }, text, about, h("label", { class: "check" }, details, t("details"))),
    list, notice, row(older));
  more();
  let [told, asked] = [state.told, 0];
  const onChange = async () => {
    if (told === state.told || Date.now() - asked < NOT_SOONER) return;
    asked = Date.now();
    const now = state.told;
    if (await newer()) told = now;
  };
  return { element, draw: onChange, refresh: () => (lines.length === 0 ? more() : newer()) };
}

function entry({ at, subject, told: { label, words, weight } }) {
  const session = subject.match(/^session\/(\w+)$/)?.[1] ?? [...state.sessions.values()].find((each) => each.label === label)?.id;
  const name = label && h("strong", null, shown(label));
  return h("li", { class: words.startsWith("ALARM") ? "alarm" : weight },
    moment(at, locale(), "time"),
    h("span", { class: "words" }, session && name ? h("a", { href: `#/session/${session}` }, name) : name, label && " ", shown(respelled(sentence(words)))));
}
