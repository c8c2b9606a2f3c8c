// Push: the installed page is told that something waits, also while it is closed. Needs https, and a gate that pushes.

import { call, key } from "./api.js";

/** The only address that may be run as a worker. */
const WORKER = new URL("worker.js", import.meta.url).href;

const policy = window.trustedTypes?.createPolicy("portcullis", {
  createScriptURL: (address) => {
    if (address !== WORKER) throw new TypeError("no such worker");
    return address;
  },
});

export const canPush = () => "serviceWorker" in navigator && "PushManager" in window && window.isSecureContext;

/** The worker knows the key from a database: it cannot read what the page's own storage holds. */
export function keepKey() {
  return new Promise((resolve) => {
    const opening = indexedDB.open("portcullis", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("device");
    opening.onerror = () => resolve();
    opening.onsuccess = () => {
      const store = opening.result.transaction("device", "readwrite").objectStore("device");
      const writing = key.get() ? store.put(key.get(), "key") : store.delete("key");
      writing.onsuccess = writing.onerror = () => (opening.result.close(), resolve());
    };
  });
}

/** Starts the worker. Where the gate pushes, and someone has allowed notifications, it is subscribed, too. */
export async function startWorker() {
  if (!canPush()) return undefined;
  await keepKey();
  navigator.serviceWorker.addEventListener("message", ({ data }) => data?.go && (location.hash = data.go.slice(data.go.indexOf("#"))));
  return navigator.serviceWorker.register(policy ? policy.createScriptURL(WORKER) : WORKER, { scope: "/" });
}

/** Whether this browser is told by push now. */
export async function subscribe() {
  const registration = await navigator.serviceWorker.ready;
  const { public_key } = await call("GET", "/api/v1/push");
  const subscription = await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes(public_key) });
  await call("POST", "/api/v1/push", subscription.toJSON());
}

function bytes(base64url) {
  const text = atob(base64url.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}
