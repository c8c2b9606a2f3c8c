// A browser that is not linked yet: it trades the link's secret, which stands behind the #, for a key of its own.

import { call, key } from "./api.js";
import { h } from "./dom.js";
import { shown } from "./letters.js";
import { button, field, row } from "./parts.js";
import { why } from "./state.js";
import { t } from "./words.js";

/** The secret of the link that was opened. It is taken out of the address at once, so that no history keeps it. */
export function takeSecret() {
  const secret = location.hash.match(/^#link=([\w-]{20,100})$/)?.[1];
  if (secret) history.replaceState(null, "", "/");
  return secret;
}

/** The secret in a link that was pasted, whatever stands around it. */
const secretIn = (text) => text.match(/#link=([\w-]{20,100})(?![\w-])/)?.[1];

export function linkView(secret, linked, reason) {
  const notice = h("p", { class: "notice", role: "status" }, reason && shown(reason));
  const element = h("main", { class: "form center" }, h("h1", null, "Portcullis"), (secret || !reason) && h("p", null, secret ? t("linkWhat", { host: location.host }) : t("linkFirst")),
    reason && notice, secret ? linkForm(secret, linked, notice) : [h("p", { class: "hint" }, t("linkHow")), pasteForm(notice, (found) => element.replaceWith(linkView(found, linked)))], !reason && notice);
  return element;
}

function linkForm(secret, linked, notice) {
  const name = h("input", { type: "text", maxlength: "60", value: deviceName(), "aria-label": t("called") });
  const link = async () => {
    notice.textContent = t("linking");
    try {
      const made = await call("POST", "/api/v1/devices", { link: secret, name: name.value });
      key.set(made.key);
      linked();
    } catch (error) {
      notice.textContent = error.status === 403 ? t("linkUsed") : why(error);
    }
  };
  const copy = () => navigator.clipboard.writeText(`${location.origin}/#link=${secret}`).then(() => (notice.textContent = t("copied")), () => {});
  // A page that is only fetched ahead does nothing: someone has to press.
  const form = h("div", null, field("called", name), row(button("link", "primary", link)),
    isForHomeScreen() && [h("p", { class: "hint" }, t("forHomeScreen")), row(button("copyLink", "quiet", copy))]);
  // Whoever opens a second link in a browser whose key counts need not make another device of it.
  const offerToStay = () => form.append(h("p", { class: "hint" }, t("hasKey")), row(button("keepDevice", "quiet", linked)));
  if (key.get()) call("GET", "/api/v1/me").then(offerToStay, () => {});
  return form;
}

/** For a page that no link can be opened in: on an iPhone one on the home screen has neither an address bar nor the browser's key. */
function pasteForm(notice, found) {
  const link = h("input", { type: "text", inputmode: "url", autocomplete: "off", autocapitalize: "off", spellcheck: "false", "aria-label": t("pasteLink"), placeholder: "https://…/#link=…" });
  const take = () => {
    const secret = secretIn(link.value);
    if (secret) found(secret);
    else notice.textContent = t("noLinkThere");
  };
  link.addEventListener("keydown", (event) => event.key === "Enter" && !event.isComposing && take());
  return h("div", null, field("pasteLink", link), row(button("takeLink", "quiet", take)));
}

/** On an iPhone the page on the home screen is linked by itself: what its browser was given does not count there. */
const isForHomeScreen = () => /iPhone|iPad/.test(deviceName()) && !matchMedia("(display-mode: standalone)").matches && Boolean(navigator.clipboard);

/** What browsers and systems say they are, those first that say they are others as well. */
const BROWSERS = [["Edg", "Edge"], ["OPR", "Opera"], ["SamsungBrowser", "Samsung"], ["Firefox", "Firefox"], ["FxiOS", "Firefox"], ["CriOS", "Chrome"], ["Chrome", "Chrome"], ["Safari", "Safari"]];
const SYSTEMS = [["iPhone", "iPhone"], ["iPad", "iPad"], ["Android", "Android"], ["CrOS", "ChromeOS"], ["Macintosh", "Mac"], ["Windows", "Windows"], ["Linux", "Linux"]];

/** A name to begin with, such as `Chrome, Android`. Where another device has it, the gate adds a number. */
export function deviceName(agent = navigator.userAgent, touches = navigator.maxTouchPoints) {
  const found = (names) => names.find(([said]) => agent.includes(said))?.[1];
  // An iPad says that it is a Mac, and no Mac is touched.
  const system = found(SYSTEMS) === "Mac" && touches > 1 ? "iPad" : found(SYSTEMS);
  return [found(BROWSERS), system].filter(Boolean).join(", ");
}
