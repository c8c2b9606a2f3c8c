// People: who is let in, with their role and tokens, and strangers who wait to be.

import { call } from "./api.js";
import { h, moment } from "./dom.js";
import { shown } from "./letters.js";
import { button, field, row } from "./parts.js";
import { state, why } from "./state.js";
import { locale, t } from "./words.js";

const ROLES = ["sender", "reviewer", "admin"];
const roles = (selected) => ROLES.map((role) => h("option", { value: role, selected: role === selected }, t(`role_${role}`)));

export function peopleView() {
  const place = h("div", null, h("p", { class: "hint" }, t("loading")));
  const notice = h("p", { class: "notice", role: "status" });
  const act = async (method, path, body, question) => {
    if (question && !confirm(question)) return;
    try {
      const answer = await call(method, path, body);
      notice.textContent = "";
      await load();
      return answer;
    } catch (error) {
      notice.textContent = why(error);
      return undefined;
    }
  };
  const load = async () => {
    try {
      const [{ people, waiting }, tokens] = await Promise.all([call("GET", "/api/v1/people"), call("GET", "/api/v1/tokens")]);
      place.replaceChildren(pairings(waiting, act), list(people, act), tokenList(tokens, act));
    } catch (error) {
      place.replaceChildren();
      notice.textContent = why(error);
    }
  };
  let told = state.people;
  const draw = () => {
    // What someone writes here stays, and a token that is shown once.
    if (told === state.people || place.contains(document.activeElement) || place.querySelector(".secret")) return;
    told = state.people;
    load();
  };
  load();
  return { element: h("section", { class: "form" }, h("h1", null, t("people")), notice, place), draw, refresh: load };
}

function list(people, act) {
  if (people.length === 0) return h("div", { class: "empty" }, h("p", null, t("noPeople")), h("p", { class: "hint" }, t("noPeopleHow")));
  return h("ul", null, people.map((person) => {
    const path = `/api/v1/people/${encodeURIComponent(person.name)}`;
    // Whoever administers may do everything: that is no slip of a key in a menu.
    const isMeant = () => role.value !== "admin" || confirm(t("reallyAdmin", { name: person.name }));
    const change = () => (isMeant() ? act("PUT", path, { role: role.value }) : (role.value = person.role));
    const role = h("select", { "aria-label": t("role"), onchange: change },
      ROLES.includes(person.role) ? roles(person.role) : h("option", { value: person.role }, person.role));
    return h("li", { class: "card" },
      h("div", { class: "line" }, h("strong", null, shown(person.name)), h("span", { class: "small" }, t("since"), " ", moment(person.since, locale()))),
      person.identities.length > 0 && h("p", { class: "path" }, person.identities.map(shown).join(", ")),
      row(role, button("remove", "quiet", () => act("DELETE", path, undefined, t("reallyRemove", { name: person.name })))));
  }));
}

function pairings(waiting, act) {
  const code = h("input", { type: "text", maxlength: "20", autocapitalize: "off", autocomplete: "off", spellcheck: "false" });
  const name = h("input", { type: "text", maxlength: "64", autocapitalize: "off" });
  const role = h("select", null, roles("reviewer"));
  const approve = () => act("POST", "/api/v1/pairings", { code: code.value.trim(), name: name.value.trim(), role: role.value });
  if (waiting.length === 0) return h("p", { class: "hint" }, t("nobodyWaits"));
  return h("div", { class: "card" },
    h("h2", null, t("waitingPeople")),
    h("ul", null, waiting.map((one) => h("li", null, h("strong", null, shown(one.called)), ` ${shown(one.platform)}:${shown(one.user)} `, moment(one.since, locale())))),
    h("p", { class: "hint" }, t("pairHow")),
    h("div", { class: "columns" }, field("code", code), field("name", name), field("role", role)), row(button("letIn", "primary", approve)));
}

function tokenList(tokens, act) {
  const shownToken = h("div", { class: "new-token", role: "status" });
  const person = h("input", { type: "text", maxlength: "64", autocapitalize: "off" });
  const role = h("select", null, roles("sender"));
  const add = async () => {
    const name = person.value.trim();
    const made = await act("POST", "/api/v1/tokens", { person: name, role: role.value });
    if (!made) return;
    // The list was drawn anew; the secret is told this once, in the new one.
    const place = document.querySelector(".new-token");
    const copy = () => navigator.clipboard.writeText(made.token).then(() => (copied.textContent = t("copied")), () => {});
    const copied = h("small", { role: "status" });
    place.replaceChildren(h("p", null, t("tokenOf", { name: shown(name) })), h("p", { class: "code secret" }, made.token),
      row(navigator.clipboard && button("copy", "quiet", copy), copied));
    place.scrollIntoView({ block: "nearest" });
  };
  return h("div", null,
    h("h2", null, t("tokens")),
    h("ul", null, tokens.map((token) => h("li", { class: "card" },
      h("div", { class: "line" }, h("strong", null, shown(token.person)), h("span", { class: "badge" }, t(`role_${token.role}`))),
      h("p", { class: "small" }, token.labels && `${t("onlySessions", { label: token.labels.map(shown).join(", ") })} · `,
        token.expired ? t("expired") : token.expires ? [t("expires"), " ", moment(token.expires, locale())] : t("neverExpires")),
      row(button("revoke", "quiet", () => act("DELETE", `/api/v1/tokens/${token.id}`, undefined, t("reallyRevokeToken", { name: token.person }))))))),
    h("div", { class: "card" }, h("h2", null, t("newToken")), h("p", { class: "hint" }, t("newTokenHow")),
      h("div", { class: "columns" }, field("name", person), field("role", role)), row(button("addToken", "quiet", add)), shownToken));
}
