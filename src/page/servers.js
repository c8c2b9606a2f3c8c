// The MCP servers of a folder: how each is and why, with what a person can do about it: approve it, or sign in.

import { call } from "./api.js";
import { h } from "./dom.js";
import { whereItLeads } from "./input.js";
import { exactly, shown } from "./letters.js";
import { button, field, row } from "./parts.js";
import { folders, why } from "./state.js";
import { phrase, t } from "./words.js";

/** States in which nothing is to be done. */
const WELL = ["connected", "disabled", "hidden", "refused"];

export function serversView() {
  const known = folders();
  const folder = h("input", { type: "text", list: "folders", autocomplete: "off", autocapitalize: "off", value: known[0] ?? "" });
  const notice = h("p", { class: "notice", role: "status" });
  const list = h("div", { class: "servers" });
  const load = async () => {
    notice.textContent = t("connecting");
    const asked = folder.value;
    try {
      const servers = await call("GET", `/api/v1/mcp/servers?folder=${encodeURIComponent(asked)}`);
      if (asked !== folder.value) return;
      notice.textContent = "";
      list.replaceChildren(...(servers.length > 0 ? servers.map((server) => card(asked, server, load)) : [nobody()]));
    } catch (error) {
      notice.textContent = "";
      list.replaceChildren(h("p", { class: "warning" }, why(error)));
    }
  };
  folder.addEventListener("change", load);
  if (folder.value) load();
  const element = h("section", { class: "form" },
    h("h1", null, t("servers")),
    field("folder", folder), h("datalist", { id: "folders" }, known.map((each) => h("option", { value: each }))),
    h("p", { class: "hint" }, t("serversHow")), row(button("lookAgain", "quiet", load)), notice, list);
  return { element, draw: () => {}, refresh: () => folder.value && load() };
}

const nobody = () => h("div", { class: "empty" }, h("p", null, t("noServers")), h("p", { class: "hint" }, t("noServersHow")));

function card(folder, server, load) {
  const step = h("div", { class: "step" });
  const notice = h("p", { class: "notice", role: "status" });
  const isWell = WELL.includes(server.state);
  // What the command line says to do is done by a button here, and what would be started stands above.
  const reason = server.state === "not-approved" ? server.why?.match(/ with (.*); if that is right: /)?.[1] : server.why;
  return h("article", { class: "card server", "data-name": server.name, "aria-label": server.name },
    h("header", null, h("strong", null, exactly(server.name)), " ",
      h("span", { class: `badge ${isWell ? "" : "warning"}` }, t(`server_${server.state.replace("-", "_")}`)),
      h("span", { class: "small" }, ` ${shown([server.layer, server.type].filter(Boolean).join(" · "))}`)),
    server.endpoint && [whereItLeads([server.endpoint]), h("p", { class: "path" }, exactly(server.endpoint))],
    reason && h("p", { class: isWell ? "small" : "small warning" }, shown(phrase(reason))),
    server.warnings.map((warning) => h("p", { class: "small warning" }, shown(warning))),
    row(server.state === "not-approved" && button("approve", "primary", () => approve(folder, server, step, load)),
      server.state === "needs-auth" && button("signIn", "primary", () => signIn(folder, server, step, notice))),
    step, notice);
}

/** What is approved is what was shown: the gate compares it. */
function approve(folder, server, place, load) {
  const close = () => place.replaceChildren();
  const yes = async () => {
    try {
      await call("POST", "/api/v1/mcp/servers/approve", { folder, name: server.name, hash: server.hash });
      load();
    } catch (error) {
      place.replaceChildren(h("p", { class: "warning", role: "alert" }, why(error)));
    }
  };
  place.replaceChildren(h("p", { role: "alert" }, t("reallyApprove")), row(button("yesApprove", "danger", yes), button("cancel", "quiet", close)));
}

async function signIn(folder, server, place, notice) {
  notice.textContent = t("connecting");
  try {
    const { url } = await call("POST", "/api/v1/mcp/servers/login", { folder, name: server.name });
    notice.textContent = "";
    const isAddress = /^https?:\/\//.test(url ?? "");
    place.replaceChildren(isAddress
      ? h("p", null, h("a", { href: url, target: "_blank", rel: "noreferrer", class: "button primary" }, t("openSignIn")), " ", h("span", { class: "small" }, t("signInHow")))
      : h("p", null, t("signedIn")));
  } catch (error) {
    notice.textContent = "";
    place.replaceChildren(h("p", { class: "warning", role: "alert" }, why(error)));
  }
}
