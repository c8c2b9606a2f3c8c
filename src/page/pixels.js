// How many pixels a picture has, by its first bytes: before a browser unfolds it.

/** How such a file begins, whatever it is called, and where it says its size. In none of them anything can run. */
const KINDS = [
  ["image/png", "\x89PNG\r\n\x1a\n", (view) => [view.getUint32(16), view.getUint32(20)]],
  ["image/jpeg", "\xff\xd8\xff", ofJpeg],
  ["image/gif", "GIF8", (view) => [view.getUint16(6, true), view.getUint16(8, true)]],
  ["image/webp", "RIFF", ofWebp],
];

/** `{ type, width, height }`. Throws where it is no picture, or ends before it says its size. */
export function pictureIn(view) {
  const [type, , size] = KINDS.find(([, begins]) => letters(view, 0, begins.length) === begins) ?? [];
  if (!type) throw new Error("no picture");
  const [width, height] = size(view);
  return { type, width, height };
}

/** The letters at a place; fewer where the file ends. */
function letters(view, at, count) {
  const there = Math.max(0, Math.min(count, view.byteLength - at));
  return String.fromCharCode(...new Uint8Array(view.buffer, view.byteOffset + at, there));
}

/** Segments with their length, one of which begins a frame. The largest frame counts. */
function ofJpeg(view) {
  let [width, height] = [0, 0];
  for (let at = 2; at + 4 <= view.byteLength; ) {
    if (view.getUint8(at) !== 0xff) throw new Error("no segment");
    const kind = view.getUint8(at + 1);
    // What fills the space before a marker.
    if (kind === 0xff) {
      at += 1;
      continue;
    }
    // What is behind here is the picture itself.
    if (kind === 0xda || kind === 0xd9) break;
    const isFrame = kind >= 0xc0 && kind <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(kind);
    if (isFrame) [width, height] = [Math.max(width, view.getUint16(at + 7)), Math.max(height, view.getUint16(at + 5))];
    at += 2 + view.getUint16(at + 2);
  }
  if (!width || !height) throw new Error("no frame");
  return [width, height];
}

function ofWebp(view) {
  const kind = letters(view, 8, 8);
  const three = (at) => view.getUint16(at, true) + (view.getUint8(at + 2) << 16);
  if (kind === "WEBPVP8X") return [three(24) + 1, three(27) + 1];
  if (kind === "WEBPVP8 ") return [view.getUint16(26, true) & 0x3fff, view.getUint16(28, true) & 0x3fff];
  if (kind !== "WEBPVP8L") throw new Error("no picture");
  const bits = view.getUint32(21, true);
  return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1];
}
