// Elements are made here and nowhere else. Text is always a text node: nothing on this page is ever read as markup.

/** h("button", { class: "quiet", onclick: f, "aria-label": "Close" }, "text", child, [more]) */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  add(element, children);
  return element;
}

function add(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/**
 * Puts the wanted children into a parent with as few changes as possible: a child that stays is not touched, so that
 * focus, selection and what someone is typing stay, too. `wanted` is a list of [key, revision, make].
 */
export function keep(parent, wanted) {
  const there = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let place = parent.firstElementChild;
  for (const [key, revision, make] of wanted) {
    let child = there.get(key);
    there.delete(key);
    if (!child || child.dataset.revision !== String(revision)) {
      const made = make(child);
      made.dataset.key = key;
      made.dataset.revision = String(revision);
      if (child) {
        if (place === child) place = made;
        child.replaceWith(made);
      }
      child = made;
    }
    if (place === child) place = place.nextElementSibling;
    else parent.insertBefore(child, place);
  }
  for (const child of there.values()) child.remove();
}

/** The time of day, and the day where it was another one and nothing else says so. */
export function moment(milliseconds, language, only) {
  const date = new Date(milliseconds);
  const today = date.toDateString() === new Date().toDateString();
  const form = only === "time" ? { timeStyle: "medium" } : today ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" };
  return h("time", { datetime: date.toISOString() }, new Intl.DateTimeFormat(language, form).format(date));
}

const STEPS = [["day", 86_400_000], ["hour", 3_600_000], ["minute", 60_000]];

/** How long ago: `3 minutes ago`; within the last minute, `now`. */
export function agoInWords(milliseconds, language) {
  const passed = Math.max(0, Date.now() - milliseconds);
  if (passed < 60_000 && language.startsWith("zh")) return "刚刚";
  const [unit, length] = STEPS.find(([, length]) => passed >= length) ?? ["second", Infinity];
  return new Intl.RelativeTimeFormat(language, { numeric: "auto" }).format(-Math.floor(passed / length) || 0, unit);
}

/** The same, with the moment itself behind it. */
export const ago = (milliseconds, language) => {
  const date = new Date(milliseconds);
  return h("time", { datetime: date.toISOString(), title: date.toLocaleString(language) }, agoInWords(milliseconds, language));
};

/** A sentence in which the gate has put something between backticks. Where there are more of them, they are part of it. */
export function marked(text) {
  const [, before, code, after] = /^([^`]*)`([^`]+)`([^`]*)$/s.exec(text) ?? [];
  return code === undefined ? text : [before, h("code", null, code), after];
}
