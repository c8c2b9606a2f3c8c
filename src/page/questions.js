// The agent's questions with their options, and its plans with the modes that may follow.

import { h } from "./dom.js";
import { rest } from "./input.js";
import { shown } from "./letters.js";
import { markdown } from "./markdown.js";
import { button, row } from "./parts.js";
import { toTop } from "./sight.js";
import { may } from "./state.js";
import { en, t } from "./words.js";

/** Questions, and options of one, that can be drawn; nobody chooses among more. */
const MOST = 100;

export function drawQuestions(ask, answer) {
  const questions = ask.input.questions;
  if (questions.length > MOST || questions.some(({ options }) => options?.length > MOST)) throw new TypeError("too many");
  const words = questions.map(({ question }) => question);
  // What cannot be asked one by one is shown as it is.
  if (new Set(words).size < words.length || !words.every((each) => typeof each === "string")) throw new TypeError("no questions");
  const fields = questions.map((question, number) => field(question, `${ask.id}-${number}`));
  // Said where the first answer is missing, until it is there.
  const check = () => {
    fields.forEach((each) => each.element.classList.toggle("missing", !each.answer()));
    const first = fields.find((each) => !each.answer());
    missing.textContent = first ? t("answerAll") : "";
    if (first) first.element.querySelector("legend").after(missing);
    return first;
  };
  const send = () => {
    const answers = Object.fromEntries(fields.map((each, number) => [words[number], each.answer()]));
    const first = check();
    if (!first) return answer({ behavior: "allow", answers });
    toTop(first.element);
    first.element.querySelector("input").focus({ preventScroll: true });
  };
  const missing = h("p", { class: "warning", role: "alert" });
  const place = h("div", { oninput: () => missing.textContent && check() }, fields.map((each) => each.element));
  return h("div", null,
    place,
    rest(ask.input),
    may("review") && row(button("answer", "primary", send), button("deny", "plain", () => answer({ behavior: "deny" }))));
}

function field(question, id) {
  const several = question.multiSelect === true;
  const options = (question.options ?? []).map((option) => {
    const box = h("input", { type: several ? "checkbox" : "radio", name: id, value: option.label });
    return h("label", { class: "option" }, box, h("span", null, shown(option.label), option.description && h("small", null, shown(option.description))));
  });
  const boxes = () => [...element.querySelectorAll("label input")];
  // Where one answer is wanted, one's own words stand in place of a choice, and a choice in place of them.
  const onlyOwn = () => !several && own.value.trim() && boxes().forEach((box) => (box.checked = false));
  const onlyChosen = (event) => !several && event.target !== own && (own.value = "");
  const own = h("input", { type: "text", oninput: onlyOwn, placeholder: t("ownWords"), "aria-label": t("ownWords"), maxlength: "2000" });
  const element = h("fieldset", { onchange: onlyChosen }, h("legend", null, shown(question.question)), options, own);
  const answer = () => {
    const chosen = boxes().filter((box) => box.checked).map((box) => box.value);
    return [...chosen, own.value.trim()].filter(Boolean).join(", ");
  };
  return { element, answer };
}

/** What was answered, below each question, in the order in which they were asked. */
export function drawAnswers({ input, verdict }) {
  const answers = Object.entries(verdict.input?.answers ?? {});
  const asked = (verdict.input?.questions ?? input?.questions ?? []).map(({ question }) => question);
  const place = ([question]) => (asked.includes(question) ? asked.indexOf(question) : asked.length);
  return h("dl", { class: "answered" }, answers.sort((a, b) => place(a) - place(b)).map(([question, answer]) => [h("dt", null, shown(question)), h("dd", null, shown(answer))]));
}

/** Of a client that keeps the plan to itself the gate asks for it, and says so where there is none. */
const planOf = ({ input, preview }) => (typeof input?.plan === "string" ? input.plan : preview === en.noPlan ? "" : preview);

export function drawPlan(ask, answer) {
  const plan = planOf(ask);
  const modes = ask.modes ?? [];
  const choice = h("select", { "aria-label": t("goOnIn") }, modes.map((mode) => h("option", { value: mode }, `${mode}: ${t(`mode_${mode}`)}`)));
  const words = h("textarea", { rows: "2", "aria-label": t("planChange"), placeholder: t("planChange"), maxlength: "4096" });
  // The agent reads it: a mere no would make it stop.
  const sendBack = () => answer({ behavior: "deny", why: words.value.trim() || "Keep planning." });
  const unsent = h("p", { class: "warning", role: "alert" });
  const approve = () => {
    // Nobody would read them.
    const isNews = words.value.trim() && !unsent.textContent;
    unsent.textContent = isNews ? t("planWords") : "";
    if (!isNews) answer({ behavior: "allow", ...(modes.length && { mode: choice.value }) });
  };
  return h("div", null,
    plan && ask.input && ask.input.plan !== plan && h("p", { class: "hint" }, t("planTold")),
    plan ? h("div", { class: "plan" }, markdown(plan)) : h("p", { class: "warning" }, t("noPlan")),
    rest(ask.input ?? { plan: ask.preview }),
    modes.length > 0 && h("label", { class: "field" }, h("span", null, t("goOnIn")), choice),
    may("review") && [row(button("approvePlan", plan ? "primary" : "risky", approve)), unsent, words, row(button("keepPlanning", "plain", sendBack))]);
}
