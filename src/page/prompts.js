// Prompts: cards on top of everything, with all that helps to decide, and the ways to answer.

import { call, parse } from "./api.js";
import { h, keep, marked, moment } from "./dom.js";
import { code, drawInput } from "./input.js";
import { ledToIt } from "./led.js";
import { exactly, respelled, shown } from "./letters.js";
import { BadField, argumentForm } from "./mcp.js";
import { modeInWords } from "./modes.js";
import { button, hasKeyboard, row } from "./parts.js";
import { drawAnswers, drawPlan, drawQuestions } from "./questions.js";
import { changed, may, openAsks, state, why } from "./state.js";
import { watchSteady } from "./steady.js";
import { watchWhole } from "./whole.js";
import { currentLanguage, locale, phrase, t } from "./words.js";

/** Cards that are drawn at once: more keep the page from everything else, and nobody reads them together. */
const MOST_CARDS = 30;
/** Prompts that have no card yet, because others are before them. */
export const leftOut = new Set();
/** How long a card that was answered stays, to say by whom, and how long at most until it is confirmed. */
const SHOWN_AFTER = 6000;
const UNCONFIRMED = 60_000;
/** By prompt: what it was when it was last looked at, and since when. Those that were open while this page was. */
const seen = new Map();
/** Prompts that were answered on this page when they had their answer already. */
const late = new Set();
/** The number of the error that says so. */
const SETTLED = 40902;

export function drawPrompts(place, session) {
  const open = openAsks(session);
  open.forEach((ask) => seen.set(ask.id, { what: "open" }));
  const settled = [...state.asks.values()].filter((ask) => ask.state !== "open" && isFresh(ask));
  const later = open.slice(MOST_CARDS);
  leftOut.clear();
  later.forEach((ask) => leftOut.add(ask.id));
  const cards = [...open.slice(0, MOST_CARDS), ...settled].filter((ask) => !session || ask.session === session);
  const wanted = cards.map((ask) => [ask.id, revision(ask), () => attempt(() => (ask.state === "open" ? card(ask, session) : outcome(ask))) ?? bare(ask)]);
  if (later.length) wanted.push(["later", `${later.length} ${currentLanguage()}`, () => h("p", { class: "hint later", role: "status" }, t("morePrompts", { n: later.length }))]);
  keep(place, wanted);
  if (open.length > 0) watchSteady();
  if (answeredByKey && !document.activeElement?.closest?.(".prompt, .settled")) goOnFrom(place);
}

/** Set where a prompt was answered from within its card: whoever uses the keyboard goes on from there. */
let answeredByKey;

function goOnFrom(place) {
  const settled = place.querySelector(`.settled[data-key="${CSS.escape(answeredByKey)}"]`);
  if (!settled) return;
  answeredByKey = undefined;
  (place.querySelector(".prompt") ?? settled).focus({ preventScroll: true });
}

const isConfirmed = ({ verdict }) => ["confirmed", "done"].includes(verdict?.confirmation);

/** Was open while this page was, and has changed since a short while. */
function isFresh(ask) {
  if (!seen.has(ask.id)) return false;
  if (seen.get(ask.id).what !== revision(ask)) seen.set(ask.id, { what: revision(ask), since: Date.now() });
  const waits = ask.verdict?.behavior === "allow" && !isConfirmed(ask);
  return Date.now() - seen.get(ask.id).since < (waits ? UNCONFIRMED : SHOWN_AFTER);
}

const revision = (ask) => [ask.state, ask.allowed_by?.length ?? 0, ask.verdict?.confirmation, ask.state !== "open" && late.has(ask.id), currentLanguage()].join();

function card(ask, session) {
  // Of a preview nobody has judged what would run.
  const risk = ask.risk?.level ?? (ask.preview_only ? "unknown" : "low");
  const reasons = ask.risk?.reasons?.length ? t("inBrackets", { what: ask.risk.reasons.map(phrase).join(t("comma")) }) : "";
  const draws = { question: drawQuestions, plan: drawPlan }[ask.kind];
  const notice = h("p", { class: "notice", role: "status" });
  const step = h("div", { class: "step" });
  const isRisky = !draws && (ask.default_to_no || ask.requires_user_interaction || ask.preview_only || ask.risk?.level === "high" || deceives(ask));
  // To allow takes a second step where it is risky, and where not all of it was in sight.
  const answer = (verdict) => {
    const unseen = verdict.behavior === "allow" && !verdict.answers && whole.unseen();
    const act = () => send(ask, verdict, notice);
    if (unseen || verdict.input || (isRisky && verdict.behavior === "allow")) secondStep(step, act, { unseen, openAll: whole.open, input: verdict.input, ask, scope: verdict.scope });
    else act();
  };
  const body = draws && attempt(() => draws(ask, answer));
  const name = shown(ask.label ?? ask.session);
  const drawn = h(
    "article",
    { class: `card prompt risk-${risk}`, tabindex: "-1", "aria-label": t("asks", { label: ask.label ?? "" }), "data-code": ask.code },
    h("header", null,
      session ? h("strong", null, name) : h("a", { href: `#/session/${ask.session}` }, h("strong", null, name)), " ", h("span", null, t({ question: "asksYou", plan: "hasPlan" }[ask.kind] ?? "wants", { tool: shown(ask.tool) })),
      h("code", { class: "small" }, ask.code),
      ask.kind !== "question" && h("span", { class: "badge risk" }, t(`risk_${risk}`) + reasons)),
    ask.preview_only && h("p", { class: "warning" }, t("previewOnly")),
    ledToIt(ask),
    body ?? (draws && ask.input ? code(ask.input) : drawInput(ask)),
    facts(ask),
    may("review") ? !body && answers(ask, answer, isRisky, () => step.replaceChildren()) : h("p", { class: "hint" }, t("noRight")),
    step,
    notice,
  );
  const whole = watchWhole(drawn, ask.id);
  if (ask.allowed_by?.includes(state.me?.name)) {
    drawn.querySelectorAll(ALLOWING).forEach((each) => (each.disabled = true));
    notice.textContent = t("youAllowed", { n: Math.max(0, (ask.quorum ?? 1) - ask.allowed_by.length) });
  }
  return drawn;
}

/** Letters of its command are not what they look like. In a text or a diff such letters may be meant. */
const deceives = ({ tool, input }) => tool === "Bash" && typeof input?.command === "string" && exactly(input.command) !== input.command;

/** What an agent gave a tool may have any form: one card that cannot be drawn as it should does not keep the others away. */
function attempt(draw) {
  try {
    return draw();
  } catch {
    return undefined;
  }
}

/** A prompt that this page cannot draw: all that the gate says of it, and the answer that is always right. */
function bare(ask) {
  const notice = h("p", { class: "notice", role: "status" });
  return h("article", { class: "card prompt risk-high", "aria-label": t("asks", { label: shown(ask.label ?? "") }), "data-code": ask.code },
    code(ask), ask.state === "open" && may("review") && row(button("deny", "plain", () => send(ask, { behavior: "deny" }, notice))), notice);
}

/** What would allow once more, by someone who did. */
const ALLOWING = ["allowOnce", "forSession", "always", "edit", "approvePlan", "answer"].map((action) => `[data-action="${action}"]`).join();

function secondStep(place, act, { unseen, openAll, input, ask, scope }) {
  const close = () => place.replaceChildren();
  const words = input ? t("reallyEdited") : unseen ? t("notAllSeen", { more: unseen }) : t({ session: "reallySession", always: "reallyAlways" }[scope] ?? "really");
  const yes = button(unseen && !input ? "allowUnseen" : "yesAllow", "danger", () => (close(), act()));
  const see = unseen && !input && button("showAll", "primary", () => (close(), openAll()));
  // It may be below what is in sight, or behind the box to write in.
  requestAnimationFrame(() => place.scrollIntoView({ block: "nearest" }));
  place.replaceChildren(h("div", null, h("p", { role: "alert", class: unseen && "warning" }, words), input && drawOther(ask, input), row(see, yes, button("cancel", "quiet", close))));
}

/** What someone wrote in place of what the agent did. */
const drawOther = (ask, input) => drawInput({ tool: ask.tool, mcp: ask.mcp, input, preview: "", replaces: input.file_path === ask.input?.file_path ? ask.replaces : undefined });

function facts(ask) {
  const fact = (name, value) => value && [h("dt", null, name), h("dd", null, value)];
  const session = state.sessions.get(ask.session);
  return h("div", null,
    h("dl", { class: "facts" },
      fact(t("reason"), ask.reason && ask.kind !== "question" && marked(shown(phrase(ask.reason)))),
      fact(t("folder"), session?.folder && shown(session.folder)),
      fact(t("until"), ask.answer_by && moment(ask.answer_by, locale())),
      fact(t("quorum", { n: ask.quorum }), ask.quorum && t("allowedBy", { names: (ask.allowed_by ?? []).join(", ") || "–" }))),
    // The model chose these words: they stand apart from what is known.
    says(ask) && h("p", { class: "claim" }, h("span", null, t("of", { name: t("saysAgent") })), shown(ask.description)),
    ask.held && h("p", { class: "hint" }, t("held")));
}

/** Where the model gave no words of its own, the client repeats the command or the file. */
function says(ask) {
  const { command, file_path: path, url, description } = ask.input ?? {};
  // Of a question and of a plan the gate says what they are; those words are not the model's.
  if (ask.kind !== "tool" && description !== ask.description) return false;
  // Cut off, too.
  const start = ask.description?.replace(/(?:…|\.{3})$/, "");
  const isKnown = (known) => known === ask.description || known?.endsWith?.(`/${ask.description}`) || (start !== ask.description && known?.startsWith?.(start));
  return ask.description && ![command, path, url, ask.preview].some(isKnown);
}

/** What an answer lets through besides, and what it makes of the session's mode. */
function granted({ words }) {
  const mode = words.match(/(?:^|, )mode (acceptEdits|default|plan)(?=, )/)?.[1];
  return [mode && h("p", { class: "warning" }, t("alsoMode", { mode: modeInWords(mode) })), h("small", null, exactly(respelled(phrase(words))))];
}

function answers(ask, answer, risky, changedMind) {
  const more = h("div", { class: "more" });
  /** What someone has begun to write to the agent goes along with every denial. */
  const message = () => more.querySelector("[data-why]")?.value.trim() || undefined;
  const allow = (scope) => answer({ behavior: "allow", ...(scope && { scope }) });
  const offers = (ask.offers ?? []).map((offer) => {
    const name = offer.scope === "always" ? "always" : "forSession";
    return h("div", { class: "offer" }, button(name, "quiet", () => allow(offer.scope)), granted(offer));
  });
  const denyWhy = () => {
    const words = h("textarea", { rows: "2", "data-why": true, "aria-label": t("why"), placeholder: t("why"), maxlength: "4096" });
    const deny = (interrupt) => answer({ behavior: "deny", why: message(), ...(interrupt && { interrupt }) });
    open(words, row(button("deny", "danger", () => deny(false)), ask.interruptible && button("denyStop", "quiet", () => deny(true)), button("cancel", "quiet", close)));
    words.focus({ preventScroll: true });
  };
  /** While something else is written here that would run, nothing above allows what the agent wrote. */
  const lock = (isLocked) => element.querySelectorAll(":scope > .row > [data-action=allowOnce], .offer button").forEach((each) => (each.disabled = isLocked));
  const open = (...parts) => {
    close();
    more.replaceChildren(...parts);
    requestAnimationFrame(() => more.scrollIntoView({ block: "nearest" }));
  };
  const close = () => {
    more.replaceChildren();
    changedMind();
    lock(false);
  };
  const edit = () => {
    const editor = editInput(ask, answer, close, changedMind);
    open(...editor.parts);
    lock(true);
    editor.box.focus({ preventScroll: true });
  };
  const main = [button("allowOnce", risky ? "risky" : "primary", () => allow()), button("deny", risky ? "primary" : "plain", () => answer({ behavior: "deny", why: message() }))];
  const element = h("div", { class: "answers" },
    row(risky ? main.reverse() : main),
    h("details", { ontoggle: ({ target }) => target.open && target.scrollIntoView({ block: "nearest" }) },
      h("summary", null, t("more")),
      offers,
      row(button("denyWhy", "quiet", denyWhy), ask.editable && ask.input && button("edit", "quiet", edit)),
      hasKeyboard() && h("p", { class: "hint small" }, t("keysHow"))),
    more);
  return element;
}

/** The box in which what runs is written anew. What was confirmed is what stood there: a change takes that back. */
function editInput(ask, answer, close, changedMind) {
  const isCommand = ask.tool === "Bash" && typeof ask.input.command === "string";
  const form = !isCommand && !Array.isArray(ask.input) && Object.keys(ask.input).length > 0 && argumentForm(ask.input, () => changedMind());
  const text = isCommand ? ask.input.command : JSON.stringify(ask.input, null, 2);
  const editor = h("textarea", { rows: "6", class: "code", spellcheck: "false", "aria-label": t("edit"), value: text, oninput: () => changedMind() });
  const wrong = h("p", { class: "warning", role: "alert" });
  const send = () => {
    try {
      const input = form ? form.read() : isCommand ? { ...ask.input, command: editor.value } : parse(editor.value);
      wrong.textContent = form || editor.value.trim() ? "" : t("nothingToRun");
      if (!wrong.textContent) answer({ behavior: "allow", input });
    } catch (error) {
      wrong.textContent = error instanceof BadField ? t("of", { name: shown(error.message) }) + t("badJson") : t("badJson");
    }
  };
  const box = form ? form.element.querySelector("textarea") : editor;
  return { box, parts: [h("p", { class: "hint" }, t("editHow")), form ? form.element : editor, wrong, row(button("allow", "primary", send), button("cancel", "quiet", close))] };
}

async function send(ask, verdict, notice) {
  const card = notice.closest(".card");
  if (card?.contains(document.activeElement)) answeredByKey = ask.id;
  const buttons = card?.querySelectorAll("button:enabled") ?? [];
  buttons.forEach((each) => (each.disabled = true));
  try {
    const { missing } = await call("POST", `/api/v1/asks/${ask.id}/verdict`, verdict);
    notice.textContent = missing ? t("missing", { n: missing }) : t("recorded");
  } catch (error) {
    if (error.number === SETTLED) {
      late.add(ask.id);
      changed();
    }
    answeredByKey = undefined;
    notice.textContent = why(error);
    notice.scrollIntoView({ block: "nearest" });
    buttons.forEach((each) => (each.disabled = false));
  }
}

/** Where it was answered: here, or in which way elsewhere. All devices of one person answer in the same name. */
function placeOf({ verdict }) {
  const { name, device_name: device } = state.me ?? {};
  if (verdict.device && verdict.device === device && verdict.by === name) return t("via_here");
  if (verdict.device) return t("via_named", { device: shown(verdict.device) });
  return ["device", "terminal", "socket", "http"].includes(verdict.via) ? t(`via_${verdict.via}`) : t("via_other", { via: shown(phrase(verdict.via)) });
}

/** What the answer was, and how far it reaches. */
function answerIn({ kind, verdict }) {
  if (!verdict) return undefined;
  if (verdict.behavior === "deny") return kind === "plan" ? "keepPlanning" : verdict.interrupt ? "denyStop" : "deny";
  if (kind === "question") return "answered";
  if (kind === "plan") return "planApproved";
  if (verdict.input && typeof verdict.input === "object") return "allowedEdited";
  return { session: "forSession", always: "always" }[verdict.scope] ?? "allow";
}

function outcome(ask) {
  const verdict = ask.verdict;
  const words = verdict
    ? t(answerIn(ask) === "answered" ? "questionAnswered" : "answeredBy", { by: shown(verdict.by), via: placeOf(ask), behavior: t(answerIn(ask)) })
    : t("gone", { why: shown(phrase(ask.withdrawn ?? ask.state)) });
  const offer = verdict?.behavior === "allow" && ask.offers?.find(({ scope }) => scope === verdict.scope);
  const after = verdict?.behavior === "allow" && { denied: "refusedAfter", unknown: "unknownAfter" }[verdict.outcome];
  return h("article", { class: "card settled", role: "status", tabindex: "-1", "data-code": ask.code },
    h("strong", null, shown(ask.label ?? "")), " ", shown(ask.tool), ": ", words, " ",
    verdict && h("small", { class: isConfirmed(ask) ? "confirmed" : "unconfirmed" }, t((after || { confirmed: "confirmed", done: "handedOver" }[verdict.confirmation]) ?? "notConfirmed")),
    verdict?.why && [" ", h("q", { class: "small" }, shown(verdict.why))],
    offer && h("div", { class: "offer" }, granted(offer)),
    answerIn(ask) === "answered" && drawAnswers(ask),
    answerIn(ask) === "allowedEdited" && drawOther(ask, verdict.input),
    verdict?.differs && h("p", { class: "warning" }, t("differs")),
    late.has(ask.id) && h("p", { class: "warning" }, t("tooLate")));
}
