// Pictures that came with a message: fetched with the key when they come into sight, and drawn from memory.

import { fetchFile } from "./api.js";
import { h } from "./dom.js";
import { shown } from "./letters.js";
import { pictureIn } from "./pixels.js";

const NAMED = /\.(png|jpe?g|gif|webp)$/i;
/** Larger ones are downloaded only, in bytes. */
const MOST_BYTES = 5 << 20;
/** Drawn at once, but for those in sight. The others give their memory back, and are fetched again when someone looks. */
const MOST_DRAWN = 12;
/** So far from what is in sight, in pixels, a picture is fetched ahead. */
const NEAR = 200;
/** Larger ones are downloaded only, in pixels: a small file may unfold to more memory than a phone has. */
const MOST_PIXELS = 20_000_000;

/** By picture that is drawn: its address. */
const drawn = new Map();

export const isPicture = (name, bytes) => NAMED.test(name) && bytes > 0 && bytes <= MOST_BYTES;

export function picture(path, name) {
  const image = h("img", { class: "picture", alt: shown(name), "data-path": path, decoding: "async" });
  watch.observe(image);
  return image;
}

const watch = new IntersectionObserver((seen) => seen.forEach(({ target, isIntersecting }) => isIntersecting && draw(target)), { rootMargin: `${NEAR}px` });

async function draw(image) {
  if (drawn.has(image)) return;
  drawn.set(image, undefined);
  try {
    const file = await fetchFile(image.dataset.path);
    const { type, width, height } = pictureIn(new DataView(await file.arrayBuffer()));
    if (!(width * height <= MOST_PIXELS)) throw new Error("too large");
    // Whoever scrolled past meanwhile does not wait for it.
    if (!drawn.has(image)) return;
    drawn.set(image, URL.createObjectURL(new Blob([file], { type })));
    image.src = drawn.get(image);
    await image.decode();
  } catch {
    if (!drawn.has(image)) return;
    // The button below it still downloads the file.
    image.remove();
    forget(image);
  }
  for (const other of drawn.keys()) if (drawn.size > MOST_DRAWN && !isNear(other)) forget(other);
}

/** What is in sight, or may be soon, would only be fetched again. */
function isNear(image) {
  const { top, bottom } = image.getBoundingClientRect();
  return image.isConnected && bottom > -NEAR && top < innerHeight + NEAR;
}

function forget(image) {
  const address = drawn.get(image);
  drawn.delete(image);
  image.removeAttribute("src");
  if (address) URL.revokeObjectURL(address);
  // Seen again, it is drawn again; one that has left the page is forgotten.
  watch.unobserve(image);
  if (image.isConnected) watch.observe(image);
}
