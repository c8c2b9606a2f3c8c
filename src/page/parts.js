// Small parts that many views are made of: buttons, rows of them, fields with their label.

import { h } from "./dom.js";
import { back } from "./place.js";
import { t } from "./words.js";

export const row = (...buttons) => h("div", { class: "row" }, buttons);

export const button = (key, kind, onclick) => h("button", { type: "button", class: kind, onclick, "data-action": key }, t(key));

/** Whether someone is likely to have a keyboard: a phone hovers over nothing. */
export const hasKeyboard = () => matchMedia("(hover: hover) and (pointer: fine)").matches;

export const field = (name, control) => h("label", { class: "field" }, h("span", null, t(name)), control);

/** The head of a view that one comes to from another. */
export const backBar = (...more) => h("div", { class: "bar" }, h("a", { href: "#/", class: "button quiet back", "aria-label": t("back"), onclick: back }, "‹"), more);
