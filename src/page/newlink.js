// A link for another device: what it may do, the link with its QR code, and who came by it.

import { call } from "./api.js";
import { h } from "./dom.js";
import { shown } from "./letters.js";
import { button, row } from "./parts.js";
import { state, why } from "./state.js";
import { t } from "./words.js";

/** Squares of white around a QR code, as readers want them, and points for each square. */
const [MARGIN, SQUARE] = [4, 4];

/** `linked(devices)` is told of each list of devices: one that is new came by the link that is shown. */
export function newLink() {
  const right = (name) => h("input", { type: "checkbox", value: name });
  const more = ["start", "admin"].map(right);
  const place = h("div", { class: "new-link", role: "status" });
  let known;
  let over;
  const close = (...left) => {
    clearTimeout(over);
    known = undefined;
    place.replaceChildren(...left);
  };
  const make = async () => {
    const rights = more.filter((box) => box.checked).map((box) => box.value);
    // Whoever has such a link may do everything: that takes a second step.
    if (rights.includes("admin") && !confirm(t("reallyAdminLink"))) return;
    try {
      const before = await call("GET", "/api/v1/devices");
      const link = await call("POST", "/api/v1/devices/links", { rights });
      close(drawn(link));
      known = new Set(before.map(({ id }) => id));
      over = setTimeout(() => close(h("p", { class: "hint" }, t("linkOver"))), Math.max(0, link.until - Date.now()));
    } catch (error) {
      close(h("p", { class: "warning" }, why(error)));
    }
  };
  const drawn = ({ secret, public_url: base, qr }) => {
    const address = `${base ?? location.origin}/#link=${secret}`;
    const copied = h("small", { role: "status" });
    const copy = () => navigator.clipboard.writeText(address).then(() => (copied.textContent = t("copied")), () => {});
    return h("div", null, qr?.length > 0 && code(qr), h("p", null, t(!base ? "linkHere" : qr?.length > 0 ? "linkOpen" : "linkTunnel")), h("p", { class: "code secret" }, address),
      row(navigator.clipboard && button("copy", "quiet", copy), button("cancel", "quiet", () => close()), copied));
  };
  const linked = (devices) => {
    const fresh = known && devices.find(({ id }) => !known.has(id));
    if (fresh) close(h("p", { class: "good" }, t("deviceLinked", { name: shown(fresh.name) })));
  };
  // The gate makes none for who comes from elsewhere.
  const isElsewhere = state.me?.public_url === location.origin;
  const element = h("div", { class: "card" }, h("h2", null, t("linkAnother")), isElsewhere
    ? h("p", { class: "hint" }, t("linkElsewhere"))
    : [h("p", { class: "hint" }, t("anotherDevice")), more.map((box) => h("label", { class: "check" }, box, t(`also_${box.value}`))), row(button("makeLink", "quiet", make)), place]);
  return { element, linked, leave: () => close() };
}

/** Always dark on white: readers of such codes want it so in the dark as well. */
function code(rows) {
  const size = (rows.length + 2 * MARGIN) * SQUARE;
  const canvas = h("canvas", { class: "qr", width: String(size), height: String(size), role: "img", "aria-label": t("qr") });
  const pen = canvas.getContext("2d");
  pen.fillStyle = "#fff";
  pen.fillRect(0, 0, size, size);
  pen.fillStyle = "#000";
  rows.forEach((line, y) => [...line].forEach((square, x) => square === "1" && pen.fillRect((x + MARGIN) * SQUARE, (y + MARGIN) * SQUARE, SQUARE, SQUARE)));
  return canvas;
}
