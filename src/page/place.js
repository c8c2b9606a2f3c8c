// Where someone was in the list of sessions: whoever comes back from one of them finds it where it stood. The browser keeps it
// with the list's entry in its history.

/** Told of a click that opens a session from the list. */
export function notePlace({ currentTarget: card }) {
  history.replaceState({ opened: card.hash, top: card.getBoundingClientRect().top }, "");
}

/** The list is shown: one that was come back to goes to its place. Cards above it may have come or gone meanwhile. */
export function whereItWas() {
  const { opened, top } = history.state ?? {};
  const card = opened && document.querySelector(`.session[href="${CSS.escape(opened)}"]`);
  if (card) scrollBy(0, card.getBoundingClientRect().top - top);
}

/** A session was opened from the list, which is the entry before. Coming here again leaves its mark as it is. */
export function cameFromList() {
  if (!history.state) history.replaceState({ isFromList: true }, "");
}

/** The way back to the list is the browser's own, where that leads there. */
export function back(event) {
  if (!history.state?.isFromList || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  history.back();
}
