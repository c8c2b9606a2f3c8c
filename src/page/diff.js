// A diff of two texts by lines, for Edit and Write: what stays, what goes, what comes.

/** Lines beyond which two texts are shown one after the other: the table of a diff grows with their product. */
const MOST_LINES = 1500;

/** [["same" | "old" | "new", line], …] */
export function diff(before, after) {
  // The end of a last line begins no other, unless only one of them has it.
  const endsWhole = [before, after].every((text) => text === "" || text.endsWith("\n"));
  const [old, now] = [before, after].map((text) => (text === "" ? [] : (endsWhole ? text.slice(0, -1) : text).split("\n")));
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  const same = (line) => ["same", line];
  const middle = changes(old.slice(start, old.length - end), now.slice(start, now.length - end));
  return [...old.slice(0, start).map(same), ...middle, ...old.slice(old.length - end).map(same)];
}

function changes(old, now) {
  if (old.length + now.length > MOST_LINES) {
    return [...old.map((line) => ["old", line]), ...now.map((line) => ["new", line])];
  }
  // The longest common subsequence, from the end.
  const longest = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      longest[i][j] = old[i] === now[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  const found = [];
  let i = 0;
  let j = 0;
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      found.push(["same", old[i]]);
      i += 1;
      j += 1;
    } else if (j >= now.length || (i < old.length && longest[i + 1][j] >= longest[i][j + 1])) {
      found.push(["old", old[i]]);
      i += 1;
    } else {
      found.push(["new", now[j]]);
      j += 1;
    }
  }
  return found;
}
