// The dock: a picture that stays in sight while the cells of its notebook run, beside them or above.
//
//     ┌─ .jp-Notebook ───────┬─ .lab-dock ─┐
//     │ [4]: view            │  Cluster  ✕ │
//     │      ▸ it is beside  │  ┌───────┐  │
//     │ [5]: cluster.kill(1) │  │       │  │     the picture itself moves, as it is
//     │      ...             │  └───────┘  │
//     └──────────────────────┴─────────────┘
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

const BESIDE = 1000; // px: a narrower notebook has it above
const ABOVE = 320; // px: a notebook that is lower than this, and narrow, has none
const SIDE = { share: 0.41, least: 420, most: 720 }; // the width of a dock beside, px
const TOP = { share: 0.5, least: 228, most: 340 };
const MOVED = "lab-dock"; // all cells of a notebook hear it

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
      if (notebook) observer.observe(notebook);
    }
    const room = notebook && (isWide(notebook) || notebook.clientHeight >= ABOVE);
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
  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && held()) notebook.querySelector(".jp-mod-active")?.focus();
  });
  const observer = new ResizeObserver(() => place()); // when the cell comes to the page, and later
  observer.observe(el);
  model.on("change:docked", wish);
  place();
  return {
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

const isWide = (notebook) => notebook.clientWidth >= BESIDE;

function dock(notebook, name, holder, root, release) {
  if (notebook.lab) remove(notebook, true);
  const box = html("aside", "lab-dock", notebook);
  box.setAttribute("aria-label", "the picture that stays in sight");
  const measure = () => {
    const wide = isWide(notebook);
    const { share, least, most } = wide ? SIDE : TOP;
    const all = wide ? notebook.clientWidth : notebook.clientHeight;
    const size = Math.min(Math.max(all * share, least), most);
    notebook.style.setProperty("--lab-dock", `${Math.round(size)}px`);
    notebook.classList.toggle("lab-above", !wide);
  };
  const observer = new ResizeObserver(measure);
  observer.observe(notebook);
  measure();
  notebook.lab = { name, holder, box, release, observer };
  notebook.classList.add("lab-docked");
  moved(root, () => box.append(root));
  notebook.dispatchEvent(new Event(MOVED));
}

function undock(notebook) {
  remove(notebook, false);
  notebook.dispatchEvent(new Event(MOVED));
}

// The picture goes back below its cell, also when another one displaces it.
function remove(notebook, displaced) {
  const { box, release, observer } = notebook.lab;
  notebook.lab = null;
  observer.disconnect();
  release(displaced);
  box.remove();
  notebook.classList.remove("lab-docked", "lab-above");
}

// An element that is moved loses the focus: the next key would be the notebook's.
function moved(root, move) {
  const active = root.contains(document.activeElement) ? document.activeElement : null;
  move();
  active?.focus({ preventScroll: true });
}
