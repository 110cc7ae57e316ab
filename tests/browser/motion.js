// Compares a picture that moves with the same picture at rest, in each frame: what belongs together
// lags by the same distance. The page is kept busy, as JupyterLab is: movements that the browser
// draws in a thread of its own go on meanwhile, and all others wait.
// Defines motion.twin(traits), motion.tell(traits) and motion.found: a sentence about each fault.
(() => {
  const BUSY = 50; // ms of 60
  const NEAR = 1; // px
  const main = document.querySelector("main");
  const still = document.createElement("main");
  still.id = "still";
  still.style.width = main.style.width;
  const style = document.createElement("style");
  style.textContent =
    "#still .lab-scene * { transition: none !important; animation: none !important; }";
  document.head.append(style);
  document.body.append(still);
  const pathOf = (element, root) => {
    const keys = [];
    for (let each = element; each !== root; each = each.parentElement) keys.unshift(each.dataset.key);
    return keys.join("/");
  };
  const byPath = (root) => {
    const svg = root.querySelector(".lab-scene");
    return new Map([...svg.querySelectorAll("[data-key]")].map((it) => [pathOf(it, svg), it]));
  };
  const box = (element) => element.getBoundingClientRect();
  const inside = (text, rect) => {
    const [x, y] = [text.x + text.width / 2, text.y + text.height / 2];
    return rect.left <= x && x <= rect.right && rect.top <= y && y <= rect.bottom;
  };
  // The smallest box around the middle of each text, at rest. A text that has another place in its
  // box than before is on a way of its own.
  const homes = (there) => {
    const boxes = [...there].filter(([, it]) => it.tagName === "rect" && !it.matches(".clear, .blank"));
    const found = [];
    const before = motion.places;
    motion.places = new Map();
    for (const [path, element] of there) {
      if (element.tagName !== "text") continue;
      const around = boxes.filter(([, it]) => inside(box(element), box(it)));
      around.sort(([, one], [, other]) => box(one).width - box(other).width);
      if (!around.length) continue;
      const [home, rect] = around[0];
      const place = ["left", "top"].map((edge) => box(element)[edge] - box(rect)[edge]);
      motion.places.set(`${path} in ${home}`, place);
      const [x, y] = before.get(`${path} in ${home}`) ?? place;
      if (Math.abs(x - place[0]) <= NEAR && Math.abs(y - place[1]) <= NEAR) found.push([path, home]);
    }
    return found;
  };
  const seen = (element) => {
    for (let each = element; each.dataset?.key; each = each.parentElement)
      if (getComputedStyle(each).opacity < 0.2) return false;
    return true;
  };
  const look = () => {
    const [moving, atRest] = [byPath(main), byPath(still)];
    const [here, there] = [main, still].map((it) => box(it.querySelector(".lab-scene")));
    const lag = (path, edge) => {
      const origin = edge === "top" || edge === "bottom" ? "top" : "left";
      const [one, other] = [box(moving.get(path))[edge], box(atRest.get(path))[edge]];
      return one - here[origin] - other + there[origin];
    };
    const off = (text, home, edges) => {
      const [least, most] = edges.map((edge) => lag(home, edge)).sort((one, other) => one - other);
      const own = lag(text, edges[0]);
      motion.farthest = Math.max(motion.farthest, Math.abs(least), Math.abs(most));
      return Math.max(least - own, own - most, 0);
    };
    motion.frames += 1;
    for (const [path, home] of motion.homes) {
      if (!seen(moving.get(path)) || !seen(moving.get(home))) continue;
      const apart = Math.hypot(off(path, home, ["left", "right"]), off(path, home, ["top", "bottom"]));
      if (apart > NEAR) motion.found.push(`${path} is ${apart.toFixed(0)} px off ${home}`);
    }
    if (motion.goes) requestAnimationFrame(look);
  };
  const toil = () => {
    const until = performance.now() + BUSY;
    while (performance.now() < until);
    if (motion.goes) setTimeout(toil, 10);
  };
  const twin = new Model({ ...model.traits });
  twin.send = () => {};
  brokerlab.render({ model: twin, el: still });
  window.motion = {
    frames: 0,
    farthest: 0,
    found: [],
    homes: [],
    places: new Map(),
    goes: false,
    tell(traits) {
      model.tell(structuredClone(traits));
      twin.tell(structuredClone(traits));
      motion.homes = homes(byPath(still));
    },
    watch() {
      motion.homes = homes(byPath(still));
      motion.goes = true;
      requestAnimationFrame(look);
      toil();
    },
  };
})();
