// Links terms in a text with the pictures on its page.
//
//     [high watermark](../docs/glossary.md#high-watermark "The offset up to which ...")
//
// is a term in a notebook's markdown: a link to the glossary, whose title says what the term means.
// Where a picture has the thing, it lights up when the term is pointed at or has the focus, and the
// term lights up when the thing is pointed at. The page is told once, however many pictures it has.

globalThis.brokerlabTerms ??= (() => {
  const TERMS = {
    "high-watermark": ".watermark, .trail.high, .name.high, [data-key='sign mark'] text, [data-key='sign high words']",
    "log-end-offset": "text[data-key='end'], .trail.lead, .trail.sync, .trail.lag, .name.lead, .name.sync, .name.lag",
    "last-stable-offset": ".trail.lso, .name.lso, .held-back",
    "in-sync-replica": ".chip rect.leader, .chip rect.follower, .dots.lead, .dots.sync, [data-key='ISR'], .trail.sync",
    leader: ".chip rect.leader, .cells.lead, .trail.lead, .name.lead, .dots.lead",
    follower: ".chip rect.follower, .cells.sync, .trail.sync, .name.sync, .dots.sync",
    epoch: "[data-key^='epoch '] text, [data-key^='leader.elected'] text",
    "leader-epoch": "[data-key^='epoch '] text, [data-key^='leader.elected'] text",
    controller: ".crown, [data-key='controller']",
  };
  const LINK = "a[href*='/glossary.'][href*='#']";
  const term = (link) => link.hash.slice(1);
  const rules = Object.entries(TERMS).flatMap(([name, shapes]) => {
    const within = `.lab-scene[data-term="${name}"] `;
    return [
      `${within}:is(${shapes}) { filter: drop-shadow(0 0 1px var(--ink)) drop-shadow(0 0 4px var(--ink)); }`,
      `${within}text:is(${shapes}) { filter: none; fill: var(--ink); text-decoration: underline 2px; }`,
    ];
  });
  const style = document.createElement("style");
  style.textContent = `${rules.join("\n")}
    ${LINK} { color: inherit !important; text-decoration: underline dotted !important; cursor: help; }
    ${LINK}.lab-lit { outline: 2px solid currentcolor; outline-offset: 2px; border-radius: 3px; }`;
  document.head.append(style);

  const scenes = () => document.querySelectorAll(".lab-scene");
  const light = (name) => {
    for (const svg of scenes()) {
      if (name && svg.querySelector(TERMS[name] ?? ":not(*)")) svg.dataset.term = name;
      else delete svg.dataset.term;
    }
  };
  const over = (event) => {
    const link = event.target.closest?.(LINK);
    if (link) light(term(link));
  };
  const out = (event) => {
    if (event.target.closest?.(LINK)) light(null);
  };
  document.addEventListener("pointerover", over);
  document.addEventListener("focusin", over);
  document.addEventListener("pointerout", out);
  document.addEventListener("focusout", out);

  const links = (shape) => {
    const within = shape?.closest?.(".lab-scene");
    for (const link of document.querySelectorAll(LINK)) {
      const shapes = TERMS[term(link)];
      const about = within && shapes && (shape.closest(shapes) || (shape.dataset.does != null && shape.querySelector(shapes)));
      link.classList.toggle("lab-lit", Boolean(about));
    }
  };
  return (svg) => {
    svg.addEventListener("pointerover", (event) => links(event.target));
    svg.addEventListener("pointerleave", () => links(null));
    svg.addEventListener("focusin", (event) => links(event.target));
    svg.addEventListener("focusout", () => links(null));
  };
})();
