// Draws the scenes of widgets/scene.py, and says what the learner does. No library, no build step.
//
// A shape's element is found again by its key, so what moved is moved, and CSS makes it glide. All of
// a picture glides in the same way, or nothing does: while one scene follows another before the last
// movement has ended, as in a live run, each shape is at once where the newest scene has it.
// Everything a mouse can do a keyboard can: Tab to the picture, arrows from shape to shape,
// Enter or Space to act, Escape to go back to the cell. On a slider left and right are its first two
// acts. Enter with Shift, Ctrl or Alt belongs to the notebook: it runs a cell. On the full screen a
// picture is as large as fits, and the notebook hears no key.

const SVG = "http://www.w3.org/2000/svg";
const TAGS = { rect: "rect", circle: "circle", travel: "circle", text: "text", group: "g", chip: "g" };
const NAMES = { rect: ["x", "y", "width", "height", "rx"], circle: ["cx", "cy", "r"] };
const ANCHORS = { "-1": "start", 0: "middle", 1: "end" };
const EVERY = 60; // milliseconds between two words about one drag
const GLIDE = 250; // milliseconds in which a movement has ended (stage.css)
const SETTLED = 120; // milliseconds after which a width is told that changes
const LONG = 25; // letters: words that may be broken into lines
const TIME = ["begin", "back", "play", "forward", "slow_motion", "live"];
const ANSWERS = ["slide", "answer"]; // after these acts the learner runs on
const PROJECTED = 1.5; // on the full screen a pixel of the picture is so many of the page

function html(tag, look, parent) {
  const made = document.createElement(tag);
  if (look) made.className = look;
  if (parent) parent.append(made);
  return made;
}

function attribute(element, name, value) {
  if (value === undefined || value === "") element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

// -- shapes ---------------------------------------------------------------------------------

function children(parent, rows) {
  const before = parent.shapes ?? new Map();
  const now = (parent.shapes = new Map());
  for (const [kind, key] of rows) {
    const known = before.get(key);
    now.set(key, known?.kind === kind ? known : created(kind));
    if (known?.kind === kind) before.delete(key);
  }
  // Before the others are placed: to place an element again begins its fade anew.
  for (const element of before.values()) element.remove();
  let place = null;
  for (const row of rows) {
    const element = now.get(row[1]);
    const next = place ? place.nextSibling : parent.firstChild;
    if (next !== element) parent.insertBefore(element, next);
    place = element;
    const told = JSON.stringify(row);
    if (element.told !== told) shape(element, row, told);
  }
}

function created(kind) {
  const element = document.createElementNS(SVG, TAGS[kind] ?? "path");
  return Object.assign(element, { kind, fresh: true });
}

function shape(element, row, told) {
  const [kind, key, where, look = "", content = "", label = "", acts = [], drag = "", kin = ""] =
    row;
  Object.assign(element, { told, key, label, acts, drag, kin });
  const own = kind === "chip" ? "chip" : look;
  attribute(element, "class", element.fresh ? `${own} fresh` : own);
  element.fresh = false;
  geometry(element, kind, where, content, look);
  const does = acts.length > 0 || drag || kin;
  element.toggleAttribute("data-does", Boolean(does));
  attribute(element, "data-key", key);
  attribute(element, "data-kin", kin);
  attribute(element, "aria-label", label);
  attribute(element, "role", drag ? "slider" : acts.length ? "button" : label ? "img" : "");
  attribute(element, "aria-haspopup", acts.length > 1 ? "menu" : "");
  if (does && !element.hasAttribute("tabindex")) element.setAttribute("tabindex", "-1");
  if (!does) element.removeAttribute("tabindex");
}

// A box with a short word in it, and it may be a bar beside it.
function chip([, , width, height, full = 0, pale = 0], look, words) {
  const bar = (key, x, long, more) => ["path", key, [], `bit ${look}${more}`, `M${x} ${height / 2}h${long}`];
  const shapes = [
    ["rect", "box", [0, 0, width, height, 4], look],
    ["text", "word", [width / 2, height / 2 + 3.7, 0], `letter ${look}`, words],
  ];
  if (full) shapes.push(bar("full", width + 2, full, ""));
  if (pale) shapes.push(bar("pale", width + 2 + full, pale, " written"));
  return shapes;
}

function geometry(element, kind, where, content, look) {
  if (NAMES[kind]) NAMES[kind].forEach((name, i) => attribute(element, name, where[i]));
  else if (kind === "line") attribute(element, "d", `M${where[0]} ${where[1]}L${where[2]} ${where[3]}`);
  else if (kind === "travel") {
    attribute(element, "r", 3.5);
    element.style.offsetPath = `path("${content}")`;
  } else {
    const [x = 0, y = 0, anchor = -1] = where; // of a chip the third is its width
    element.style.cssText = `--at: ${x}px ${y}px`;
    if (kind === "path") attribute(element, "d", content);
    if (kind === "group") children(element, content || []);
    if (kind === "chip") children(element, chip(where, look, content));
    if (kind === "text") {
      attribute(element, "text-anchor", ANCHORS[anchor]);
      if (element.textContent !== content) element.textContent = content;
    }
  }
}

// -- the whole ------------------------------------------------------------------------------

function render({ model, el }) {
  const root = html("div", "lab-stage", el);
  const top = html("div", "lab-top", root);
  const trouble = html("div", "lab-trouble", root);
  trouble.setAttribute("role", "alert");
  const frame = html("div", "lab-frame", root);
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "lab-scene first");
  svg.setAttribute("role", "group");
  frame.append(svg);
  const tip = html("div", "lab-tip", frame);
  const live = html("div", "lab-live", root);
  live.setAttribute("aria-live", "polite");

  const end = () => {
    root.classList.add("ended");
    root.inert = true;
    trouble.textContent = "The kernel has ended. Run this cell again.";
    dock.end();
  };
  const send = (message) => {
    try {
      model.send(message);
    } catch {
      end();
    }
  };
  const act = (name, on, words, kind) => {
    send(on == null ? { act: name } : { act: name, on });
    if (kind === "answer") onward(el);
  };
  act.onward = () => onward(el);
  const menu = menus(frame, act);
  pointing(svg, frame, tip, menu, act);
  keys(svg, menu, act);
  globalThis.brokerlabTerms?.(svg);
  svg.addEventListener("animationend", ({ target }) => target.classList.remove("fresh"));

  let glides = 0;
  const draw = () => {
    svg.classList.toggle("runs", performance.now() < glides);
    glides = performance.now() + GLIDE;
    const { size: [wide, high], title, shapes } = JSON.parse(model.get("scene"));
    attribute(svg, "viewBox", `0 0 ${wide} ${high}`);
    // Drawn larger where there is room, and never smaller.
    svg.style.cssText = `--wide: ${wide}; --high: ${high}; min-width: ${wide}px`;
    attribute(svg, "aria-label", title);
    const active = svg.ownerDocument.activeElement;
    const held = svg.contains(active) ? active : null;
    const place = held?.getBoundingClientRect();
    children(svg, shapes);
    // Or the next key would be the notebook's, which knows one that deletes a cell.
    if (held) focusOn(held.isConnected && held.hasAttribute("tabindex") ? held : nearest(svg, place));
    reachable(svg);
    menu.refresh();
    if (tip.about) tip.textContent = tip.about.label;
    if (!tip.about?.isConnected) tip.classList.remove("shown");
  };
  top.full = fullScreen(root, top);
  const dock = docking(el, root, top, model, send);
  toNotebook(root, el, dock.cell);
  const head = () => header(top, model, act);
  const say = () => {
    live.textContent = model.get("said");
  };
  const fail = () => {
    trouble.textContent = model.get("trouble");
  };
  const listeners = {
    "change:scene": draw,
    "change:controls": head,
    "change:name": head,
    "change:about": head,
    "change:said": say,
    "change:trouble": fail,
    // JupyterLab's model, which this is called on, knows whether its kernel still runs.
    comm_live_update: function () {
      if (!this.comm_live) end();
    },
  };
  for (const [name, listener] of Object.entries(listeners)) model.on(name, listener);
  [head, draw, say, fail].forEach((each) => each());
  requestAnimationFrame(() => svg.classList.remove("first"));
  const unwatch = watching(root, send);
  const unmeasure = measuring(frame, send);
  return () => {
    dock.leave();
    unwatch();
    unmeasure();
    for (const [name, listener] of Object.entries(listeners)) model.off(name, listener);
  };
}

// One shape can be reached by Tab; the arrows lead on from there.
function reachable(svg) {
  const doing = [...svg.querySelectorAll("[data-does]")];
  if (doing.some((each) => each.getAttribute("tabindex") === "0")) return;
  if (doing.length) doing[0].setAttribute("tabindex", "0");
}

// Python draws only while somebody can see it.
function watching(root, send) {
  const view = Math.random().toString(36).slice(2);
  let seen = false;
  let told = false;
  const tell = () => {
    const on = seen && !document.hidden;
    if (on !== told) send({ watch: view, on });
    told = on;
  };
  const observer = new IntersectionObserver((entries) => {
    seen = entries.at(-1).isIntersecting;
    tell();
  });
  observer.observe(root);
  document.addEventListener("visibilitychange", tell);
  return () => {
    observer.disconnect();
    document.removeEventListener("visibilitychange", tell);
    seen = false;
    tell();
  };
}

// Python lays the picture out for the width that it has here, and in a dock for the height, too. The
// size is noted when it is observed: when it is told, the page may be hidden for a moment, as while
// JupyterLab changes its theme, and no observer hears that it came back at the same size.
function measuring(frame, send) {
  let told = [0, 0];
  let size;
  let due;
  const tell = () => {
    if (!size[0] || String(size) === String(told)) return;
    told = size;
    send({ width: size[0], height: size[1] });
  };
  const observer = new ResizeObserver(() => {
    const full = frame.closest(":fullscreen");
    const width = Math.round(frame.clientWidth / (full ? PROJECTED : 1));
    size = [width, frame.closest(".lab-dock") && !full ? frame.clientHeight : 0];
    clearTimeout(due);
    due = setTimeout(tell, told[0] ? SETTLED : 0);
  });
  observer.observe(frame);
  return () => {
    observer.disconnect();
    clearTimeout(due);
  };
}

// -- what can be done -----------------------------------------------------------------------

function shapeOf(event) {
  return event.target.closest?.("[data-does]");
}

function choose(element, menu, act) {
  if (!element?.acts?.length) return;
  if (element.acts.length > 1) menu.open(element);
  else act(...element.acts[0]);
}

// After an answer the learner runs on: the next cell is the active one.
function onward(el) {
  focusOn(nextCell(el));
}

function nextCell(el) {
  const next = el.closest(".jp-Cell")?.nextElementSibling;
  return next?.matches(".jp-Cell") ? next : null;
}

function menus(frame, act) {
  const box = html("div", "lab-menu", frame);
  box.setAttribute("role", "menu");
  box.hidden = true;
  let owner = null;
  const fill = () => {
    box.replaceChildren();
    box.told = JSON.stringify(owner.acts);
    box.setAttribute("aria-label", owner.label);
    for (const each of owner.acts) {
      const [, , words, kind = ""] = each;
      const item = html("button", kind, box);
      item.setAttribute("role", "menuitem");
      item.textContent = words;
      item.onclick = () => {
        close();
        act(...each);
      };
    }
  };
  const close = () => {
    if (!owner) return;
    box.hidden = true;
    const was = owner;
    owner = null;
    if (was.isConnected) focusOn(was);
  };
  const open = (element) => {
    owner = element;
    fill();
    box.hidden = false;
    const [at, within] = [element.getBoundingClientRect(), frame.getBoundingClientRect()];
    const left = at.left - within.left + Math.min(at.width / 2, 40);
    const [aside, down] = [frame.scrollLeft, frame.scrollTop];
    box.style.left = `${aside + Math.max(0, Math.min(left, within.width - box.offsetWidth - 4))}px`;
    const under = at.top - within.top + Math.min(at.height / 2, 30);
    box.style.top = `${down + Math.max(0, Math.min(under, within.height - box.offsetHeight - 4))}px`;
    focusOn(box.firstChild);
  };
  box.onkeydown = (event) => {
    const items = [...box.children];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      const next = items.indexOf(document.activeElement) + step;
      items[(next + items.length) % items.length].focus();
    } else if (event.key === "Escape" || event.key === "Tab") close();
    else if (event.key !== "Enter" && event.key !== " ") return;
    event.stopPropagation(); // the notebook has its own ideas about keys
    if (event.key !== "Enter" && event.key !== " ") event.preventDefault();
  };
  box.addEventListener("focusout", (event) => {
    if (owner && !box.contains(event.relatedTarget) && event.relatedTarget) close();
  });
  const refresh = () => {
    if (!owner) return;
    if (!owner.isConnected || !owner.acts.length) close();
    else if (box.told !== JSON.stringify(owner.acts)) {
      const held = box.contains(document.activeElement);
      fill();
      if (held) focusOn(box.firstChild);
    }
  };
  return { open, close, refresh };
}

function pointing(svg, frame, tip, menu, act) {
  const light = (kin) => {
    for (const each of svg.querySelectorAll(".lit")) each.classList.remove("lit");
    if (!kin) return;
    const kind = `[data-kin="${CSS.escape(kin)}"]`;
    for (const each of svg.querySelectorAll(kind)) each.classList.add("lit");
  };
  const hint = (element, x, y) => {
    tip.about = element;
    tip.textContent = element?.label ?? "";
    const tells = Boolean(element?.label) && !repeats(element);
    tip.classList.toggle("shown", tells);
    if (!tells) return;
    const within = frame.getBoundingClientRect();
    const left = Math.min(x - within.left + 12, within.width - tip.offsetWidth - 4);
    const above = y - within.top - tip.offsetHeight - 10;
    tip.style.left = `${frame.scrollLeft + Math.max(4, left)}px`;
    tip.style.top = `${frame.scrollTop + (above < 0 ? y - within.top + 18 : above)}px`;
  };
  // What a shape says already needs no tip, which would only cover it.
  const repeats = ({ label, textContent }) =>
    label.match(/[\p{L}\p{N}]+/gu)?.every((word) => textContent.includes(word));
  svg.addEventListener("pointermove", (event) => {
    hint(event.target.closest?.("[aria-label]:not(svg)"), event.clientX, event.clientY);
    light(shapeOf(event)?.kin);
  });
  svg.addEventListener("pointerleave", () => {
    hint(null);
    light(null);
  });
  svg.addEventListener("focusin", (event) => {
    const element = shapeOf(event);
    if (!element) return;
    for (const each of svg.querySelectorAll('[tabindex="0"]')) each.setAttribute("tabindex", "-1");
    element.setAttribute("tabindex", "0");
    light(element.kin);
    const at = element.getBoundingClientRect();
    if (element.matches(":focus-visible")) hint(element, at.left, at.top);
  });
  svg.addEventListener("focusout", () => hint(null));
  svg.addEventListener("click", (event) => {
    const element = shapeOf(event);
    if (!element) return menu.close();
    focusOn(element);
    if (!element.drag) choose(element, menu, act);
  });
  dragging(svg, act);
}

function dragging(svg, act) {
  let held = null;
  let due = 0;
  const move = (event, last) => {
    const box = held.getBoundingClientRect();
    const at = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    const now = performance.now();
    if (!last && now < due) return;
    due = now + EVERY;
    act(held.drag, at);
    if (last && ANSWERS.includes(held.drag)) act.onward();
  };
  svg.addEventListener("pointerdown", (event) => {
    const element = shapeOf(event);
    if (!element?.drag || event.button !== 0) return;
    held = element;
    due = 0;
    svg.setPointerCapture(event.pointerId);
    move(event, false);
  });
  svg.addEventListener("pointermove", (event) => held && move(event, false));
  svg.addEventListener("pointerup", (event) => held && move(event, true));
  svg.addEventListener("lostpointercapture", () => (held = null));
}

function keys(svg, menu, act) {
  const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  svg.addEventListener("keydown", (event) => {
    const element = shapeOf(event);
    if (!element) return;
    if (event.key === "Enter" && ANSWERS.includes(element.drag)) act.onward();
    else if (event.key === "Enter" || event.key === " ") choose(element, menu, act);
    else if (turn(element, event.key)) act(...turn(element, event.key));
    else if (element.drag && STEPS[event.key]?.[0]) act(...element.acts[STEPS[event.key][0] > 0 ? 1 : 0]);
    else if (STEPS[event.key]) neighbour(svg, element, STEPS[event.key])?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation(); // or the notebook would move to another cell
  });
}

// What belongs to the notebook, from wherever the focus is in a picture: its cell gets the focus, and
// hears the key.
function toNotebook(root, el, cell) {
  const full = () => document.fullscreenElement === root;
  root.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || full()) return;
    const home = cell();
    if (!home) return document.activeElement.blur();
    focusOn(home);
    event.preventDefault();
    event.stopPropagation();
  });
  const run = (event) => { // before a shape, a menu or a field hears it
    const modified = event.shiftKey || event.ctrlKey || event.altKey || event.metaKey;
    if (event.key !== "Enter" || !modified || full()) return;
    event.preventDefault();
    event.stopPropagation();
    let home = cell() ?? el;
    if (ANSWERS.includes(event.target.drag)) home = nextCell(home) ?? home; // not asked again
    focusOn(home);
    home.dispatchEvent(new KeyboardEvent(event.type, event));
  };
  root.addEventListener("keydown", run, true);
}

// In a tree, right opens and left closes.
function turn(element, key) {
  const name = { ArrowRight: "expand", ArrowLeft: "collapse" }[key];
  return element.acts?.find((each) => each[0] === name);
}

function nearest(svg, place) {
  const far = (element) => {
    const box = element.getBoundingClientRect();
    return Math.hypot(box.x + box.width / 2 - place.x - place.width / 2, box.y - place.y);
  };
  return [...svg.querySelectorAll("[data-does]")].sort((one, other) => far(one) - far(other))[0];
}

// The nearest shape in a direction: first what is in the same row or column; what lies aside
// counts double.
function neighbour(svg, from, [right, down]) {
  const middle = (box) => [box.left + box.width / 2, box.top + box.height / 2];
  const here = from.getBoundingClientRect();
  const [x, y] = middle(here);
  let best = null;
  let least = Infinity;
  for (const element of svg.querySelectorAll("[data-does]")) {
    const box = element.getBoundingClientRect();
    const [there, below] = middle(box);
    const level = right
      ? box.top < here.bottom && box.bottom > here.top
      : box.left < here.right && box.right > here.left;
    const ahead = (there - x) * right + (below - y) * down;
    const aside = Math.abs((there - x) * down) + Math.abs((below - y) * right);
    if (element === from || ahead < 1) continue;
    const far = ahead + 2 * aside + (level ? 0 : 1e4);
    if (far < least) [best, least] = [element, far];
  }
  return best;
}

// -- the full screen --------------------------------------------------------------------------

function fullScreen(root, top) {
  const made = html("button", "lab-button lab-full", top);
  made.title = "full screen (Esc leaves it)";
  made.setAttribute("aria-label", made.title);
  made.hidden = !document.fullscreenEnabled; // some editors and phones have none
  const full = () => document.fullscreenElement === root;
  made.onclick = () => (full() ? document.exitFullscreen() : root.requestFullscreen());
  root.addEventListener("fullscreenchange", () => made.setAttribute("aria-pressed", full()));
  root.addEventListener("keydown", (event) => full() && event.stopPropagation());
  const leave = (event) => { // before a shape hears it; but a menu that is open closes first
    if (event.key !== "Escape" || !full() || root.querySelector(".lab-menu:not([hidden])")) return;
    event.stopPropagation();
    document.exitFullscreen(); // where the browser has not done it yet
  };
  root.addEventListener("keydown", leave, true);
  return made;
}

// -- the controls above -----------------------------------------------------------------------

function header(top, model, act) {
  const told = model.get("controls");
  if (!top.fields) {
    top.time = html("span", "lab-time"); // its buttons stay on one line
    top.full.before(html("b", ""), html("span", "lab-about"), html("span", "lab-turn"), top.time);
    top.fields = [];
  }
  const [name, about] = top.children; // they change while a hand is on the controls: those stay
  name.hidden = !model.get("name");
  if (name.textContent !== model.get("name")) name.textContent = model.get("name");
  if (about.told !== model.get("about")) {
    about.told = model.get("about");
    about.replaceChildren();
    about.told.split(" · ").forEach((part, i) => {
      if (i) about.append(" · ");
      // Where there is no room it breaks between parts, and within long ones.
      html("span", part.length < LONG ? "lab-part" : "", about).textContent = part;
    });
  }
  top.hidden = !told.length && !model.get("name");
  const before = new Map(top.fields.map((each) => [each.key, each]));
  top.fields = told.map((control) => {
    const own = control.kind === "button" ? control.on : control.label; // a label may change
    const key = `${control.kind} ${control.act} ${own ?? ""}`;
    const made = before.get(key) ?? Object.assign(field(control, act), { key });
    before.delete(key);
    made.home = TIME.includes(control.act) ? top.time : top;
    made.tell(control);
    return made;
  });
  for (const gone of before.values()) gone.remove();
  for (const home of [top, top.time]) {
    let next = home === top ? top.time : null;
    for (const each of top.fields.filter((it) => it.home === home).reverse()) {
      if (each.nextSibling !== next || each.parentNode !== home) home.insertBefore(each, next);
      next = each;
    }
  }
}

function field(control, act) {
  if (control.kind === "button") return pushbutton(control, act);
  const made = html("label", "lab-field");
  html("span", "", made).textContent = control.label;
  const input = html(control.kind === "choice" ? "select" : "input", "", made);
  const types = { number: "number", text: "text", slider: "range" };
  if (types[control.kind]) input.type = types[control.kind];
  let sent;
  const send = () => {
    const value = input.value;
    if (value === "" && control.kind === "number") return;
    if (value !== sent) act(control.act, ["text", "choice"].includes(control.kind) ? value : +value);
    sent = value;
  };
  input.addEventListener(control.kind === "slider" || control.typed ? "input" : "change", send);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      sent = undefined; // the same again is asked on purpose
      send();
      if (ANSWERS.includes(control.act)) act.onward();
    }
    if (event.key !== "Escape") event.stopPropagation();
  });
  made.tell = ({ value = "", least, most, step, hint, options }) => {
    attribute(input, "min", least);
    attribute(input, "max", most);
    attribute(input, "step", step);
    attribute(input, "placeholder", hint);
    if (options && input.told !== JSON.stringify(options)) {
      input.replaceChildren(...options.map(([it, words]) => new Option(words, it)));
      input.told = JSON.stringify(options);
    }
    if (document.activeElement !== input || control.kind === "choice") input.value = sent = String(value);
  };
  return made;
}

function pushbutton(control, act) {
  const made = html("button", "lab-button");
  made.onclick = () => act(made.act, made.on);
  made.tell = ({ act, words, on, label, pressed, off, more }) => {
    Object.assign(made, { act, on, title: label, textContent: words, disabled: Boolean(off) });
    if (more) html("span", "lab-word", made).textContent = ` ${more}`;
    made.setAttribute("aria-label", label);
    if (pressed === undefined) made.removeAttribute("aria-pressed");
    else made.setAttribute("aria-pressed", pressed);
  };
  return made;
}

export default { render };
