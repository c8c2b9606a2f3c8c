// Push: the installed page is told that something waits, also while it is closed. Needs https, and a gate that pushes.

import { call, key } from "./api.js";
import { mutedLabels } from "./muted.js";
import { changed, state } from "./state.js";

/** The only address that may be run as a worker. */
const WORKER = new URL("worker.js", import.meta.url).href;

const policy = window.trustedTypes?.createPolicy("portcullis", {
  createScriptURL: (address) => {
    if (address !== WORKER) throw new TypeError("no such worker");
    return address;
  },
});

export const canPush = () => "serviceWorker" in navigator && "PushManager" in window && window.isSecureContext;

/** The worker knows the key, and what is to be quiet, from a database: it cannot read what the page's own storage holds. */
export function keepKey() {
  return new Promise((resolve) => {
    const opening = indexedDB.open("portcullis", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("device");
    opening.onerror = () => resolve();
    opening.onsuccess = () => {
      const store = opening.result.transaction("device", "readwrite").objectStore("device");
      store.put(mutedLabels(), "muted");
      const writing = key.get() ? store.put(key.get(), "key") : store.delete("key");
      writing.onsuccess = writing.onerror = () => (opening.result.close(), resolve());
    };
  });
}

/** Starts the worker. */
export async function startWorker() {
  if (!canPush()) return undefined;
  await keepKey();
  navigator.serviceWorker.addEventListener("message", ({ data }) => data?.go && (location.hash = data.go.slice(data.go.indexOf("#"))));
  return navigator.serviceWorker.register(policy ? policy.createScriptURL(WORKER) : WORKER, { scope: "/" });
}

/** Whether this browser is told of prompts by push. */
export let isPushed = false;

/** Has this browser told by push. The gate is told where to anew each time: it may have forgotten. */
export async function subscribe() {
  const { pushManager } = await navigator.serviceWorker.ready;
  const applicationServerKey = bytes((await call("GET", "/api/v1/push")).public_key);
  const before = await pushManager.getSubscription();
  // It may be for a key that the gate no longer has.
  if (before && String(new Uint8Array(before.options.applicationServerKey)) !== String(applicationServerKey)) await before.unsubscribe();
  const subscription = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey });
  await tellWhere(subscription);
  isPushed = true;
  changed();
}

/** Neither the gate nor the browser's push service knows of this browser any more. */
export async function unsubscribe() {
  isPushed = false;
  const registration = canPush() ? await navigator.serviceWorker.getRegistration("/") : undefined;
  await (await registration?.pushManager.getSubscription())?.unsubscribe();
  if (state.me?.pushes) await call("DELETE", "/api/v1/push");
}

/** A browser must show something for each push, so that the gate has to know of what it is not to push. */
const tellWhere = (subscription) => call("POST", "/api/v1/push", { ...subscription.toJSON(), muted: mutedLabels() });

/** What is to be quiet has changed. */
export async function tellMuted() {
  await keepKey();
  if (isPushed) await subscribe();
}

const PAGE = [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
/** More often than the gate forgets. */
const AGAIN = 15_000;

/** Says whether this page can be seen, for as long as it is there: whoever sees it is not told by push. */
export function sayPresence() {
  // What hides a page may end it: the request is to outlive it.
  const say = () => call("POST", "/api/v1/presence", { page: PAGE, visible: !document.hidden }, { keepalive: true }).catch(() => {});
  document.addEventListener("visibilitychange", say);
  window.addEventListener("pagehide", () => call("POST", "/api/v1/presence", { page: PAGE, visible: false }, { keepalive: true }).catch(() => {}));
  setInterval(() => document.hidden || say(), AGAIN);
  say();
}

function bytes(base64url) {
  const text = atob(base64url.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}
