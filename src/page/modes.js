// The mode in which sessions of a folder start that name none: what counts, who set it, and what config.toml says.

import { call } from "./api.js";
import { ago, h } from "./dom.js";
import { shown } from "./letters.js";
import { button, field, row } from "./parts.js";
import { MODES, may, state, why } from "./state.js";
import { locale, t } from "./words.js";

/** A mode is always shown with what it means. */
export const modeInWords = (mode) => `${mode}: ${t(`mode_${mode}`)}`;

/** Those that a session may be put into here, and the one that it is in. */
export const offeredModes = (current) => MODES.filter((mode) => mode !== "bypassPermissions" || mode === current || state.me?.may_bypass);

/** One in which nothing is asked is named for each session. */
const DEFAULTS = MODES.filter((mode) => mode !== "bypassPermissions");

export const defaultModeOf = (folder) => call("GET", `/api/v1/modes/default?folder=${encodeURIComponent(folder)}`);

/** Shows it for the folder that `of` is called with; admins change it there. `changed` is told what counts from then on. */
export function defaultMode(changed = () => {}) {
  const element = h("div", { class: "default-mode" });
  const notice = h("p", { class: "notice", role: "status" });
  const draw = (found) => {
    const { folder, mode, set, configured } = found;
    const isHere = set?.folder === folder;
    const choice = h("select", null,
      h("option", { value: "", selected: !isHere }, t("asConfigured")),
      DEFAULTS.map((each) => h("option", { value: each, selected: isHere && each === set.mode }, modeInWords(each))));
    const save = async () => {
      try {
        draw(await call("PUT", "/api/v1/modes/default", { folder, mode: choice.value || null }));
        notice.textContent = t("recorded");
      } catch (error) {
        notice.textContent = why(error);
      }
    };
    const fact = (name, value) => [h("dt", null, t(name)), h("dd", null, value)];
    element.replaceChildren(
      h("dl", { class: "facts" },
        fact("startsIn", h("strong", null, modeInWords(mode))),
        fact("setHere", set ? [`${set.mode} · `, shown(set.folder), " · ", t("setBy", { by: shown(set.by) }), " ", ago(set.at, locale())] : t("nothingSet")),
        fact("configFile", [configured.mode, " · ", configured.folder ? shown(configured.folder) : "permission_mode"])),
      ...(may("admin") ? [field("defaultHere", choice), row(button("setDefault", "quiet", save))] : []),
      notice);
    changed(found);
  };
  const of = async (folder) => {
    try {
      draw(await defaultModeOf(folder));
      notice.textContent = "";
    } catch (error) {
      element.replaceChildren(error instanceof TypeError ? "" : h("p", { class: "hint" }, why(error)));
    }
  };
  return { element, of };
}
