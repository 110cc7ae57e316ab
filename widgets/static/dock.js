// The dock: a picture that stays in sight while the cells of its notebook run, beside them or above.
//
//     ┌─ .jp-NotebookPanel ────────────────┐
//     │ toolbar                            │
//     ├─ .jp-Notebook ───────┬─ .lab-dock ─┤
//     │ [4]: view            │  Cluster  ✕ │
//     │      ▸ it is beside  │  ┌───────┐  │
//     │ [5]: cluster.kill(1) │  │       │  │     the picture itself moves, as it is
//     │      ...             │  └───────┘  │
//     └──────────────────────┴─────────────┘
//
// It stands beside the notebook and not in it: in a notebook, JupyterLab gives the focus of whatever is
// in no cell to the active cell, so a menu there closes, and what is typed are commands (`dd`).
//
// A narrow page has it above its cells, at half the height: there the view draws a low picture.
//
//     ┌─ .lab-dock ────────────────┐
//     │  Cluster                 ✕ │
//     ├─ .jp-Notebook ─────────────┤
//     │ [5]: cluster.kill(1)       │
//     └────────────────────────────┘
//
// The trait `docked` names the widget that wants it; "" says that it does not. A notebook has one
// dock, and the newest picture gets it. A widget that is shown by several cells is in the dock once,
// and each of its cells says so. On a page too low for both, in an editor that is no JupyterLab, and
// when the kernel has ended, a picture is below its own cell.
//
// A dock takes room from the cells: the active one, which is what the learner reads, stays in sight.

const BESIDE = 1000; // px: a narrower notebook has it above
const ABOVE = 320; // px: a notebook that is lower than this, and narrow, has none
const SIDE = { share: 0.41, least: 420, most: 720 }; // the width of a dock beside, px
const TOP = { share: 0.5, least: 228, most: 340 };
const MOVED = "lab-dock"; // all cells of a notebook hear it
const ABOVE_IT = 24; // px between the upper edge of the cells and a cell that was brought into sight

function docking(el, root, top, model, send) {
  const button = html("button", "lab-button lab-dock-button", top);
  const away = html("button", "lab-away", el);
  away.textContent = "▸ The picture stays in sight. Show it here.";
  let notebook = null; // once the page has put this cell into one
  let fresh = true; // a new wish, which may displace another picture
  let ended = false;
  const held = () => notebook?.lab?.holder === el;
  const ask = (on) => send({ dock: on });
  button.onclick = () => ask(!held());
  away.onclick = () => ask(false);

  const place = () => {
    if (!notebook) {
      notebook = el.closest(".jp-Notebook");
      notebook?.addEventListener(MOVED, place);
      if (notebook) observer.observe(notebook.parentElement);
    }
    const room = notebook && (isWide(notebook) || sizeOf(notebook).high >= ABOVE);
    const name = ended || !room ? "" : model.get("docked");
    const theirs = () => name && notebook.lab?.name === name && !held();
    if (held() && !name) undock(notebook);
    else if (name && !held() && !theirs() && (fresh || !notebook.lab))
      dock(notebook, name, el, root, release);
    if (notebook) fresh = false;
    root.hidden = Boolean(theirs());
    away.hidden = !held() && !theirs();
    button.hidden = !room;
    button.title = held() ? "put the picture back under its cell" : "keep the picture in sight";
    button.setAttribute("aria-label", button.title);
    button.setAttribute("aria-pressed", held());
  };
  const release = (displaced) => {
    moved(root, () => el.prepend(root));
    if (displaced) ask(false);
  };
  const wish = () => {
    fresh = true;
    place();
  };
  const observer = new ResizeObserver(() => place()); // when the cell comes to the page, and later
  observer.observe(el);
  model.on("change:docked", wish);
  place();
  return {
    // The cell that the keys of the notebook belong to; none in an editor that is no JupyterLab.
    cell: () => (held() ? activeCell(notebook) : el.closest(".jp-Cell")),
    end() {
      ended = true;
      place();
    },
    leave() {
      observer.disconnect();
      notebook?.removeEventListener(MOVED, place);
      model.off("change:docked", wish);
      if (held()) undock(notebook);
    },
  };
}

// The room that a notebook and its dock have together: the panel, without its toolbar.
function sizeOf(notebook) {
  const panel = notebook.parentElement;
  const top = parseFloat(notebook.style.top) || 0;
  return { top, wide: panel.clientWidth, high: panel.clientHeight - top };
}

const isWide = (notebook) => sizeOf(notebook).wide >= BESIDE;
const activeCell = (notebook) => notebook.querySelector(".jp-Cell.jp-mod-active");

function dock(notebook, name, holder, root, release) {
  // Not with the picture that goes: its cell would be the active one.
  const focused = notebook.lab?.box.contains(document.activeElement);
  if (focused) document.activeElement.blur();
  if (notebook.lab) remove(notebook, true);
  const panel = notebook.parentElement;
  const box = html("aside", "lab-dock", panel);
  box.setAttribute("aria-label", "the picture that stays in sight");
  const measure = () => {
    const { top, wide, high } = sizeOf(notebook);
    const { share, least, most } = isWide(notebook) ? SIDE : TOP;
    const size = Math.min(Math.max((isWide(notebook) ? wide : high) * share, least), most);
    panel.style.setProperty("--lab-dock", `${Math.round(size)}px`);
    panel.style.setProperty("--lab-top", `${top}px`);
    notebook.classList.toggle("lab-above", !isWide(notebook));
  };
  const observer = new ResizeObserver(measure);
  for (const each of [panel, notebook]) observer.observe(each); // a toolbar may grow
  measure();
  const forget = following(notebook);
  notebook.lab = { name, holder, box, release, observer, forget };
  notebook.classList.add("lab-docked");
  moved(root, () => box.append(root));
  if (focused) focusOn(box.querySelector('svg [tabindex="0"]'));
  notebook.dispatchEvent(new Event(MOVED));
}

function undock(notebook) {
  remove(notebook, false);
  notebook.dispatchEvent(new Event(MOVED));
}

// The picture goes back below its cell, also when another one displaces it.
function remove(notebook, displaced) {
  const { box, release, observer, forget } = notebook.lab;
  notebook.lab = null;
  observer.disconnect();
  forget();
  release(displaced);
  box.remove();
  notebook.classList.remove("lab-docked", "lab-above");
}

// Keep the active cell in sight when the dock comes, when pictures are laid out for their new widths,
// when an output above it grows, and when Enter has made another cell the active one: JupyterLab scrolls
// to it as if the notebook had all of its panel. Once the learner has scrolled or clicked, the page stays
// where it is.
function following(notebook) {
  const outer = notebook.querySelector(".jp-WindowedPanel-outer");
  let follows = true;
  const show = () => {
    const cell = follows && activeCell(notebook);
    if (!cell) return;
    const [at, within] = [cell.getBoundingClientRect(), outer.getBoundingClientRect()];
    const seen = Math.min(at.bottom, within.bottom) - Math.max(at.top, within.top);
    if (seen < Math.min(at.height, within.height / 2)) outer.scrollTop += at.top - within.top - ABOVE_IT;
  };
  const stay = () => (follows = false);
  const listeners = {
    keydown: ({ key }) => (follows = key === "Enter"),
    focusin: () => requestAnimationFrame(show), // JupyterLab scrolls first
    pointerdown: stay,
    wheel: stay,
    touchmove: stay,
  };
  const end = new AbortController();
  const how = { capture: true, passive: true, signal: end.signal };
  for (const [name, hear] of Object.entries(listeners)) notebook.addEventListener(name, hear, how);
  const observer = new ResizeObserver(show);
  // Not each cell: those that are far away come to the page later. All of them are in the viewport.
  for (const each of [outer, outer.querySelector(".jp-WindowedPanel-viewport")]) observer.observe(each);
  return () => {
    observer.disconnect();
    end.abort();
  };
}

// The page stays where it is.
function focusOn(element) {
  element?.focus({ preventScroll: true });
}

// An element that is moved loses the focus: the next key would be the notebook's.
function moved(root, move) {
  const active = root.contains(document.activeElement) ? document.activeElement : null;
  move();
  focusOn(active);
}
