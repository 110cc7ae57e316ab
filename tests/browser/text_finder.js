// Finds texts that can't be read: too small, cut off, on top of each other, or out of their card.
// Returns a sentence about each. A text may end in "…": that was decided in Python, and its label
// has all of it.
(least) => {
  const found = [];
  const visible = (element) => {
    for (let each = element; each && each !== document; each = each.parentElement) {
      const style = getComputedStyle(each);
      if (style.display === "none" || style.visibility === "hidden") return false;
      if (Number(style.opacity) === 0) return false;
      if (each.matches(".lab-live, title, style, script, option")) return false;
    }
    return true;
  };
  const named = (it) => `${it.words.slice(0, 60)} (${it.size.toFixed(1)} px)`;

  const texts = [];
  for (const element of document.querySelectorAll("svg text")) {
    const words = element.textContent.trim();
    if (!words || !visible(element)) continue;
    const box = element.getBoundingClientRect();
    const scale = element.getScreenCTM().a;
    texts.push({ element, words, box, size: parseFloat(getComputedStyle(element).fontSize) * scale });
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const words = walker.currentNode.data.trim();
    if (!words || element.closest("svg, select") || !visible(element)) continue;
    const range = document.createRange();
    range.selectNodeContents(walker.currentNode);
    const size = parseFloat(getComputedStyle(element).fontSize);
    for (const box of range.getClientRects()) texts.push({ element, words, box, size });
  }
  for (const element of document.querySelectorAll("input, select")) {
    const size = parseFloat(getComputedStyle(element).fontSize);
    if (visible(element)) texts.push({ element, words: element.value, box: element.getBoundingClientRect(), size });
  }

  for (const it of texts) {
    if (it.size < least - 0.05) found.push(`too small: ${named(it)}`);
    for (let each = it.element; each && each !== document.body; each = each.parentElement) {
      const holder = each.tagName === "svg" || getComputedStyle(each).overflowX !== "visible";
      if (!holder || each.tagName === "INPUT" || each.tagName === "SELECT") continue;
      const box = each.getBoundingClientRect();
      const over = Math.max(box.left - it.box.left, it.box.right - box.right, box.top - it.box.top, it.box.bottom - box.bottom);
      if (over > 1) {
        found.push(`cut off by ${over.toFixed(0)} px: ${named(it)}`);
        break;
      }
    }
    const card = it.element.parentElement?.querySelector(":scope > rect.card, :scope > rect.paper, :scope > rect.kept");
    if (card && it.element.tagName === "text") {
      const box = card.getBoundingClientRect();
      const over = Math.max(box.left - it.box.left, it.box.right - box.right, it.box.bottom - box.bottom - 2);
      if (over > 1) found.push(`out of its card by ${over.toFixed(0)} px: ${named(it)}`);
    }
  }

  // The box of a text has room above and below its letters: that may overlap.
  const inner = ({ box, size }) => {
    const slack = Math.max((box.height - size * 0.8) / 2, 0);
    return { left: box.left, right: box.right, top: box.top + slack, bottom: box.bottom - slack };
  };
  const boxes = texts.map(inner);
  texts.forEach((one, i) => {
    for (let j = i + 1; j < texts.length; j++) {
      const [a, b] = [boxes[i], boxes[j]];
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 1 && high > 1 && one.element !== texts[j].element)
        found.push(`on top of each other: ${named(one)} and ${named(texts[j])}`);
    }
  });

  for (const frame of document.querySelectorAll(".lab-frame"))
    if (frame.scrollWidth > frame.clientWidth + 1)
      found.push(`to be scrolled: ${frame.scrollWidth} px wide, in ${frame.clientWidth} px`);
  return found;
}
