// Push: the installed page is told that something waits, also while it is closed. Needs https, and a gate that pushes.

import { call, key } from "./api.js";
import { mutedLabels } from "./muted.js";
import { changed, state } from "./state.js";
import { currentLanguage } from "./words.js";

/** The only address that may be run as a worker. */
const WORKER = new URL("worker.js", import.meta.url).href;

const policy = window.trustedTypes?.createPolicy("portcullis", {
  createScriptURL: (address) => {
    if (address !== WORKER) throw new TypeError("no such worker");
    return address;
  },
});

const canWork = () => "serviceWorker" in navigator && window.isSecureContext;
export const canPush = () => canWork() && "PushManager" in window;

/** The worker knows the key, the language, and what is to be quiet, from a database: it cannot read what the page's own storage holds. */
export function keepKey() {
  return new Promise((resolve) => {
    const opening = indexedDB.open("portcullis", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("device");
    opening.onerror = () => resolve();
    opening.onsuccess = () => {
      const store = opening.result.transaction("device", "readwrite").objectStore("device");
      store.put(mutedLabels(), "muted");
      store.put(currentLanguage(), "language");
      const writing = key.get() ? store.put(key.get(), "key") : store.delete("key");
      writing.onsuccess = writing.onerror = () => (opening.result.close(), resolve());
    };
  });
}

/** The worker's registration, on its way; none where this browser has no workers. */
let started;

/** Starts the worker: it shows notifications, and keeps the page itself for when the gate is away. */
export function startWorker() {
  if (!canWork()) return;
  navigator.serviceWorker.addEventListener("message", ({ data }) => data?.go && (location.hash = data.go.slice(data.go.indexOf("#"))));
  const register = () => navigator.serviceWorker.register(policy ? policy.createScriptURL(WORKER) : WORKER, { scope: "/" });
  started = keepKey().then(register).catch(() => undefined);
}

/** The registration of a worker that runs; none where there is no worker. */
export const workerReady = async () => ((await started) ? navigator.serviceWorker.ready : undefined);

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

/** Whoever has done nothing on the page for so long, in milliseconds, may have left the desk. */
const ATTENDED = 120_000;
/** What only people do: the page scrolls, and sets the focus within it, by itself as well. */
const DOING = ["pointerdown", "pointermove", "wheel", "keydown", "touchstart"];
let lastDone = Date.now();
/** Whether someone is at the page and sees every prompt that waits; none while nobody asks for it. */
let isSeen;
let saidSeen;
let saidAt = 0;

/**
 * Says whether someone sees here what waits, for as long as the page is there: who does is not told by push. `showsAll()` says
 * whether each prompt that waits stands in the view.
 */
export function sayPresence(showsAll) {
  const done = () => (lastDone = Date.now());
  // What scrolls below a pointer that rests may be told as a movement.
  const isMoved = ({ type, movementX, movementY }) => type !== "pointermove" || movementX !== 0 || movementY !== 0;
  DOING.forEach((what) => window.addEventListener(what, (event) => isMoved(event) && done(), { capture: true, passive: true }));
  window.addEventListener("focus", done);
  document.addEventListener("visibilitychange", () => (done(), notePresence()));
  window.addEventListener("pagehide", () => say(false));
  isSeen = () => !document.hidden && Date.now() - lastDone < ATTENDED && showsAll();
  notePresence();
}

/** Called after every change, and every two seconds: the gate is told what is news, and again before it forgets. */
export function notePresence() {
  const seen = isSeen?.();
  if (seen !== saidSeen || (seen && Date.now() - saidAt >= AGAIN)) say(seen);
}

function say(visible) {
  [saidSeen, saidAt] = [visible, Date.now()];
  // What hides a page may end it: the request is to outlive it.
  call("POST", "/api/v1/presence", { page: PAGE, visible }, { keepalive: true }).catch(() => (saidAt = 0));
}

function bytes(base64url) {
  const text = atob(base64url.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}
