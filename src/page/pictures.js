// Pictures that came with a message: fetched with the key when they come into sight, and drawn from memory.

import { fetchFile } from "./api.js";
import { h, shown } from "./dom.js";

const NAMED = /\.(png|jpe?g|gif|webp)$/i;
/** Larger ones are downloaded only, in bytes. */
const MOST_BYTES = 5 << 20;
/** Drawn at once. The one that was drawn first gives its memory back, and is fetched again when someone looks. */
const MOST_DRAWN = 12;
/** How such a file begins, whatever it is called. In none of them anything can run. */
const KINDS = [["image/png", "\x89PNG"], ["image/jpeg", "\xff\xd8\xff"], ["image/gif", "GIF8"], ["image/webp", "RIFF"]];

/** By picture that is drawn: its address. */
const drawn = new Map();

export const isPicture = (name, bytes) => NAMED.test(name) && bytes > 0 && bytes <= MOST_BYTES;

export function picture(path, name) {
  const image = h("img", { class: "picture", alt: shown(name), "data-path": path, decoding: "async" });
  watch.observe(image);
  return image;
}

const watch = new IntersectionObserver((seen) => seen.forEach(({ target, isIntersecting }) => isIntersecting && draw(target)), { rootMargin: "200px" });

async function draw(image) {
  if (drawn.has(image)) return;
  drawn.set(image, undefined);
  try {
    const file = await fetchFile(image.dataset.path);
    const start = String.fromCharCode(...new Uint8Array(await file.slice(0, 8).arrayBuffer()));
    const [type] = KINDS.find(([, begins]) => start.startsWith(begins)) ?? [];
    if (!type) throw new TypeError("no picture");
    drawn.set(image, URL.createObjectURL(new Blob([file], { type })));
    image.src = drawn.get(image);
    await image.decode();
  } catch {
    // The button below it still downloads the file.
    watch.unobserve(image);
    forget(image);
    image.remove();
  }
  while (drawn.size > MOST_DRAWN) forget(drawn.keys().next().value);
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
