// The service worker: it is woken by a push that only says that something waits, asks the gate what, and shows that. It also
// keeps the files of the page, so that a page that is opened while the gate is away can say so.
// It stands alone: it knows the key of this device, and the language, from the database that the page keeps them in.

const TEXTS = {
  en: { asks: "{label} asks", allow: "Allow", deny: "Deny", risk_low: "low risk", risk_medium: "medium risk", risk_high: "high risk", risk_unknown: "risk not known", waits: "Something waits for you", failed: "That did not work: open the page" },
  zh: { asks: "{label} 请求许可", allow: "允许", deny: "拒绝", risk_low: "低风险", risk_medium: "中风险", risk_high: "高风险", risk_unknown: "风险不明", waits: "有请求等你答复", failed: "没有成功：请打开页面" },
};

/** The texts in the language that was chosen on the page, else in the browser's. */
async function texts() {
  const language = (await stored("language").catch(() => undefined)) ?? navigator.language;
  const table = TEXTS[language.startsWith("zh") ? "zh" : "en"];
  return (name, values = {}) => (table[name] ?? "").replace(/\{(\w+)\}/g, (_, key) => values[key] ?? "");
}

/** More than fits on a notification is decided on the page. */
const LONGEST = 200;
const LONGEST_SHOWN = 500;

self.addEventListener("install", (event) => event.waitUntil(keepFiles().then(() => self.skipWaiting())));
self.addEventListener("activate", (event) => event.waitUntil(forgetOthers().then(() => self.clients.claim())));
self.addEventListener("fetch", (event) => isOfPage(event.request) && event.respondWith(fetched(event.request)));
self.addEventListener("push", (event) => event.waitUntil(show()));
self.addEventListener("notificationclick", (event) => event.waitUntil(clicked(event)));

/** Every other file of the page; the gate writes their names here. */
const FILES = ["FILES"];
/** The address of this file names the version of all of them, and so does what keeps them. */
const KEPT = self.location.pathname;
const INDEX = new URL("/", self.location).href;

/** A file that cannot be had now is not kept: the worker is of use all the same. */
async function keepFiles() {
  const kept = await caches.open(KEPT);
  const keep = (address, options) => fetch(address, options).then((response) => response.ok && kept.put(address, response)).catch(() => {});
  // A proxy that wants to be logged in to leads elsewhere, and that is not the page.
  await Promise.all([keep(INDEX, asPage("error")), ...FILES.map((name) => keep(new URL(name, self.location).href, { redirect: "error" }))]);
}

/** The gate shows programs something else at this address. */
const asPage = (redirect) => ({ headers: { Accept: "text/html" }, cache: "no-cache", redirect });

async function forgetOthers() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name !== KEPT).map((name) => caches.delete(name)));
}

/** The page itself and its files: what the gate answers is never kept, and neither is a key. */
function isOfPage({ method, destination, url }) {
  const { origin, pathname, search } = new URL(url);
  if (method !== "GET" || origin !== self.location.origin) return false;
  return destination === "document" ? pathname + search === "/" : pathname.startsWith("/assets/");
}

/** What a proxy says whose gate is away. */
const AWAY = [502, 503, 504];

/** The page as the gate has it now, or as it was kept where there is no gate. Its files never change under their address. */
async function fetched({ destination, url }) {
  const kept = (address) => caches.open(KEPT).then((cache) => cache.match(address, { ignoreVary: true }));
  if (destination !== "document") return (await kept(url)) ?? fetch(url);
  try {
    // Where a proxy leads elsewhere the browser goes there.
    const response = await fetch(INDEX, asPage("manual"));
    return AWAY.includes(response.status) ? (await kept(INDEX)) ?? response : response;
  } catch (error) {
    const found = await kept(INDEX);
    if (found) return found;
    throw error;
  }
}

async function show() {
  const words = await texts();
  const muted = (await stored("muted").catch(() => [])) ?? [];
  const open = (await gate("GET", "/api/v1/asks?state=open").catch(() => [])).filter((ask) => ask.state === "open" && !muted.includes(ask.label));
  const shown = await self.registration.getNotifications();
  shown.filter(({ data }) => data?.ask && !open.some((ask) => ask.id === data.ask)).forEach((settled) => settled.close());
  // A browser wants to see a notification for each push, also where someone was faster.
  if (open.length === 0) return self.registration.showNotification(words("waits"), { tag: "waits", icon: icon() });
  await Promise.all(open.slice(-5).map((ask) => self.registration.showNotification(words("asks", { label: shownText(ask.label ?? "") }), {
    body: `${words(`risk_${ask.risk?.level ?? (ask.preview_only ? "unknown" : "low")}`)}\n${shownText(`${ask.tool}: ${ask.preview.slice(0, LONGEST_SHOWN)}`)}`,
    tag: `ask-${ask.id}`,
    icon: icon(),
    data: { ask: ask.id, session: ask.session },
    actions: isSimple(ask) ? [{ action: "allow", title: words("allow") }, { action: "deny", title: words("deny") }] : [],
  })));
}

/** As on the page: what could hide or reorder text is shown by its number. (A worker imports nothing.) */
const HIDING = /(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{DI}\p{Me}\u2800\u0334-\u0338\u20d0-\u20ff]|(?<=[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\ufe20-\ufe2f]{2}|\p{M}{4})\p{M}/gu;
const shownText = (text) => String(text).replace(HIDING, (character) => `\u27e8U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}\u27e9`);

/** The fields that the text of a notification has, of tools whose text does not have them all. */
const SHOWN = { Bash: ["command", "description"], Read: ["file_path"], WebFetch: ["url"], WebSearch: ["query"] };
const isShownWhole = ({ tool, input }) => !Object.hasOwn(SHOWN, tool) || Object.keys(input ?? {}).every((name) => SHOWN[tool].includes(name));

/** Line breaks and runs of blanks push what stands behind them out of sight. */
const SPREAD = /\s{2}|[^\S ]/;

/** Letters that are written from right to left turn round what stands between them. */
const TURNING = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]|[\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** Letters of two scripts in one word, and signs that look like the slash or the dot of an address: the page spells them out. */
const LOOKS_LIKE = /[A-Za-z][\p{L}\p{N}]*(?!\p{Script=Latin})\p{L}|(?!\p{Script=Latin})\p{L}[\p{L}\p{N}]*[A-Za-z]|[\u2024\u2044\u2215\u29f8\uff0e\uff0f]|\u{1d159}/u;

/** Before an @ may stand anything up to the end of the host, also what would end an address elsewhere in a text. */
const ADDRESSES = /:\/\/((?:[^\s/?#]*@)?[^\s"'`<>|;&()/?#]+)/gu;

/** Whether the host of an address is another than it shows: behind a name, in other letters, or as a number. The page says which. */
const leadsElsewhere = (text) => [...text.matchAll(ADDRESSES)].some(([, authority]) => hostOf(authority) !== authority.replace(/:\d*$/, "").toLowerCase());

function hostOf(authority) {
  try {
    return new URL(`http://${authority}`).hostname;
  } catch {
    return undefined;
  }
}

/** What can be decided by one tap: short, seen whole, not dangerous, and yes or no. */
const isSimple = (ask) =>
  ask.kind === "tool" && ask.preview.length <= LONGEST && !ask.requires_user_interaction && !TURNING.test(ask.preview) && !LOOKS_LIKE.test(ask.preview) && !leadsElsewhere(ask.preview) && !ask.preview_only && isShownWhole(ask) && !ask.default_to_no && ask.risk?.level !== "high" && !SPREAD.test(ask.preview) && shownText(ask.preview) === ask.preview && !ask.quorum;

async function clicked({ action, notification }) {
  notification.close();
  const { ask, session } = notification.data ?? {};
  if (action && ask) {
    try {
      await gate("POST", `/api/v1/asks/${ask}/verdict`, { behavior: action });
      return;
    } catch {
      await self.registration.showNotification((await texts())("failed"), { tag: `ask-${ask}`, data: { ask, session } });
      return;
    }
  }
  const place = session ? `/#/session/${session}` : "/";
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const there = windows[0];
  if (!there) await self.clients.openWindow(place);
  else {
    // It may be told where to go although it may not be brought to the front.
    await there.focus().catch(() => {});
    there.postMessage({ go: place.slice(1) });
  }
}

const icon = () => new URL("icon.svg", self.location).href;

async function gate(method, path, body) {
  const key = await stored("key");
  if (!key) throw new Error("this browser is not linked");
  const headers = { Authorization: `Bearer ${key}`, Accept: "application/json", ...(body && { "Content-Type": "application/json" }) };
  const response = await fetch(path, { method, headers, body: body && JSON.stringify(body), cache: "no-store" });
  if (!response.ok) throw new Error(String(response.status));
  return response.json();
}

function stored(name) {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open("portcullis", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("device");
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const reading = opening.result.transaction("device").objectStore("device").get(name);
      reading.onsuccess = () => resolve(reading.result);
      reading.onerror = () => reject(reading.error);
    };
  });
}
