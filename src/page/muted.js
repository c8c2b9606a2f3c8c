// Sessions that this browser keeps quiet about, by label: one that continues another stays as quiet.

const MUTED = "portcullis.muted";
/** As many as the gate takes. */
const MOST = 200;

export const mutedLabels = () => JSON.parse(localStorage.getItem(MUTED) ?? "[]");

export const isMuted = (label) => mutedLabels().includes(label);

export function setMuted(label, isQuiet) {
  const others = mutedLabels().filter((other) => other !== label);
  localStorage.setItem(MUTED, JSON.stringify(isQuiet ? [...others, label].slice(-MOST) : others));
}
