// Letters that deceive whoever decides: those that hide, turn text round or look like others are shown by their number.

/**
 * What takes no room, is blank, turns text round, or is drawn over other letters: strokes through them, and more marks on one
 * letter than a language has, which would cover the line above. The worker has the same line.
 */
const HIDING = /(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{DI}\p{Me}\u2800\u0334-\u0338\u20d0-\u20ff]|(?<=[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\ufe20-\ufe2f]{2}|\p{M}{4})\p{M}/gu;

export const shown = (text) => String(text).replace(HIDING, number);

const number = (character) => `\u27e8U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}\u27e9`;

/** What the gate says is spelled its way, as on a terminal: here such letters are spelled in one way. */
export const respelled = (text) => text.replace(/\\u\{([0-9a-f]{1,6})\}/g, (all, hex) => spelled(all, Number.parseInt(hex, 16)));

function spelled(all, codePoint) {
  const character = codePoint <= 0x10ffff ? String.fromCodePoint(codePoint) : "";
  return character && shown(character) !== character ? number(character) : all;
}

/** A blank that is another than the usual one, and signs that look like the slash or the dot of an address. */
const BLANKS_AND_SIGNS = /[\u00a0\u1680\u2000-\u200a\u2024\u202f\u2044\u205f\u2215\u29f8\u3000]|\u{1d159}/gu;

const WORDS = /[\p{L}\p{M}\p{N}]+/gu;
/** Those that look like Latin ones. In a word with Latin letters they stand for nothing else; in a word of their own they are read. */
const LIKE_LATIN = /[\u0251\u0261\u0269\u2160-\u217f\uff21-\uff3a\uff41-\uff5a\u{1d400}-\u{1d7ff}\p{Script=Cyrillic}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Lisu}ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαινορυχϲϳ]/gu;

/** The same for what someone decides about: such a blank or letter makes it another file, argument or address. */
export const exactly = (text) => shown(text).replace(BLANKS_AND_SIGNS, number).replace(WORDS, (word) => (/[A-Za-z]/.test(word) ? word.replace(LIKE_LATIN, number) : word));

/** Before an @ may stand anything up to the end of the host, also what would end an address elsewhere in a text. */
const ADDRESSES = /\b(?:https?|ftp|wss?):\/\/((?:[^\s/?#]*@)?[^\s"'`<>|;&()/?#]+)/giu;

/**
 * The hosts that addresses in these texts lead to, where that is not what they show: another name stands before an @, or the
 * host is written in other letters or as a number.
 */
export function hostsElsewhere(texts) {
  const found = texts.flatMap((text) => [...text.matchAll(ADDRESSES)]).flatMap(([, authority]) => {
    // Programs do not agree on what a backslash is: what stands behind the last @ may be meant as well.
    const written = authority.slice(authority.lastIndexOf("@") + 1);
    const [host, other] = [written, authority].map(hostOf);
    const isAsWritten = host === undefined ? /^[!-[\]-~]+$/.test(written) : host === written.replace(/:\d*$/, "").toLowerCase();
    return written === authority && isAsWritten ? [] : [host ?? exactly(written), other];
  });
  return [...new Set(found.filter(Boolean))];
}

/** None where it cannot be known, such as behind a variable of a shell. */
function hostOf(authority) {
  try {
    return new URL(`http://${authority}`).hostname;
  } catch {
    return undefined;
  }
}
