// A browser that is not linked yet: it trades the link's secret, which stands behind the #, for a key of its own.

import { call, key } from "./api.js";
import { h, shown } from "./dom.js";
import { button, row } from "./parts.js";
import { why } from "./state.js";
import { t } from "./words.js";

/** The secret of the link that was opened. It is taken out of the address at once, so that no history keeps it. */
export function takeSecret() {
  const secret = location.hash.match(/^#link=([\w-]{20,100})$/)?.[1];
  if (secret) history.replaceState(null, "", "/");
  return secret;
}

export function linkView(secret, linked, reason) {
  const notice = h("p", { class: "notice", role: "status" }, reason && shown(reason));
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
  // A page that is only fetched ahead does nothing: someone has to press.
  const form = secret && [h("label", { class: "field" }, t("called"), name), row(button("link", "primary", link))];
  return h("main", { class: "form center" }, h("h1", null, "Portcullis"), h("p", null, t(secret ? "link" : "linkFirst")),
    form || h("p", { class: "hint" }, t("linkHow")), notice);
}

function deviceName() {
  const found = navigator.userAgent.match(/iPhone|iPad|Android|Macintosh|Windows|Linux/)?.[0] ?? "";
  const browser = navigator.userAgent.match(/Firefox|Edg|Chrome|Safari/)?.[0] ?? "";
  return [browser.replace("Edg", "Edge"), found.replace("Macintosh", "Mac")].filter(Boolean).join(", ");
}
