// Scrolls up to the first entry, a part of a screen each frame, and says what that took: how often the list moved on, the
// most entries that one such step made anew and the most that were there. It is told to go on until it is there.
(async () => {
  const list = document.querySelector(".said");
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const found = (window.scrolled ??= { there: false, steps: 0, made: 0, most: 0 });
  const changes = new MutationObserver((seen) => {
    found.steps += 1;
    found.made = Math.max(found.made, seen.reduce((sum, { addedNodes }) => sum + addedNodes.length, 0));
    found.most = Math.max(found.most, list.children.length);
  });
  changes.observe(list, { childList: true });
  const isFirst = (item) => /^number 1(?!\d)/.test(item.textContent);
  for (let frames = 0; frames < 200 && !found.there; frames += 1) {
    scrollBy(0, -4000);
    await frame();
    found.there = scrollY === 0 && [...list.querySelectorAll(".text")].some(isFirst);
  }
  await frame();
  changes.disconnect();
  if (found.there) delete window.scrolled;
  return found;
})();
