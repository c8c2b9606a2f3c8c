// Linked devices, and this page's own settings.

import { call, key } from "./api.js";
import { h, keep, moment } from "./dom.js";
import { shown } from "./letters.js";
import { askToNotify, canNotify, stopNotify, wantsNotify } from "./notify.js";
import { newLink } from "./newlink.js";
import { button, field, row } from "./parts.js";
import { canPush, isPushed, keepKey, subscribe, unsubscribe } from "./push.js";
import { may, state, why } from "./state.js";
import { currentLanguage, locale, setLanguage, t } from "./words.js";

export function devicesView(redraw) {
  const list = h("ul", { class: "devices" });
  const notice = h("p", { class: "notice", role: "status" });
  const link = may("admin") ? newLink() : undefined;
  let devices = [];
  const load = async () => {
    if (!may("admin")) return;
    try {
      devices = await call("GET", "/api/v1/devices");
      link.linked(devices);
      draw();
    } catch (error) {
      notice.textContent = why(error);
    }
  };
  const revoke = async (device) => {
    if (!confirm(t(device.id === state.me?.device ? "reallyRevokeHere" : "reallyRevoke", { name: shown(device.name) }))) return;
    try {
      await call("DELETE", `/api/v1/devices/${device.id}`);
    } catch (error) {
      notice.textContent = why(error);
    }
    load();
  };
  const item = (device) => h("li", { class: "card listed" }, h("div", null,
    h("strong", null, shown(device.name)), device.id === state.me?.device && t("inBrackets", { what: t("thisDevice") }),
    h("p", { class: "small" }, `${t("rights")} ${device.rights.map((right) => t(`right_${right}`)).join(t("comma"))} · ${t("linkedSince")} `, moment(device.since, locale()), " · ",
      device.last_used ? [`${t("lastUsed")} `, moment(device.last_used, locale())] : t("neverUsed"))),
    button("revoke", "quiet", () => revoke(device)));
  const language = h("select", { "aria-label": t("language"), onchange: () => (setLanguage(language.value), keepKey(), redraw()) },
    [["en", "English"], ["zh-CN", "中文"]].map(([value, name]) => h("option", { value, selected: value === currentLanguage() }, name)));
  const forget = async () => {
    if (!confirm(t("reallyForget"))) return;
    if (isPushed) await call("DELETE", "/api/v1/push").catch(() => {});
    // Who administers also takes it off the list.
    if (may("admin") && state.me?.device) await call("DELETE", `/api/v1/devices/${state.me.device}`).catch(() => {});
    key.forget();
    await keepKey();
    location.reload();
  };
  const notify = async () => {
    await askToNotify();
    // Where the gate does not push, or the browser cannot be, the page still tells while it is open.
    if (state.me?.pushes && wantsNotify() && canPush()) subscribe().catch(() => {});
    draw();
  };
  const noNotify = async () => {
    stopNotify();
    await unsubscribe().catch((error) => (said.textContent = why(error)));
    draw();
  };
  const said = h("p", { class: "notice", role: "status" });
  const telling = h("div");
  const tells = () => (!canNotify() ? "cannotNotify" : !wantsNotify() ? "notNotified" : isPushed ? "notifiedAlways" : "notified");
  const drawTelling = () => h("div", null,
    h("p", { class: "hint" }, t(tells())),
    row(canNotify() && (wantsNotify() ? button("noNotify", "quiet", noNotify) : button("notify", "quiet", notify)), button("forget", "quiet", forget)));
  const element = h("section", { class: "form" },
    may("admin") && [h("h1", null, t("devices")), notice, list, link.element],
    h(may("admin") ? "h2" : "h1", null, t("settings")), field("language", language), telling, said);
  let told = state.people;
  function draw() {
    if (told !== state.people) load();
    told = state.people;
    keep(telling, [["telling", tells() + currentLanguage(), drawTelling]]);
    keep(list, devices.map((device) => [device.id, `${currentLanguage()} ${device.last_used}`, () => item(device)]));
  }
  load();
  return { element, draw, refresh: load, leave: () => link?.leave() };
}
