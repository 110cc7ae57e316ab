// The page of the playground: a picture that stage.js draws, and buttons for the clock.
//
//   worker.js (Python) ── {traits} ──> Model <── stage.js        as in a notebook, where a kernel
//                      <── {model: {act, on}} ──┘                 stands in the worker's place
//                      ── {share, words} ──> the progress line
//
// Whatever cannot work (no WebAssembly, a blocked worker, no memory) is told in a sentence.

import stage from "./stage.js";

const LATE = 3000; // milliseconds; then the page begins without a service worker

const [progress, picture, tools] = ["progress", "picture", "tools"].map((id) => document.getElementById(id));
const [mode, acks, clock, past, fork] = ["mode", "acks", "clock", "past", "fork"].map((id) => document.getElementById(id));
const [verdict, records, checked] = ["verdict", "records", "checked"].map((id) => document.getElementById(id));

function fail(words) {
  progress.hidden = false;
  progress.className = "trouble";
  progress.textContent = words;
}

class Model {
  constructor(worker) {
    this.worker = worker;
    this.traits = { scene: '{"size":[100,20],"title":"","shapes":[]}', controls: [], said: "" };
    this.listeners = new Map();
  }
  get(name) {
    return this.traits[name];
  }
  set() {} // the page writes nothing
  save_changes() {}
  on(name, listener) {
    this.listeners.set(name, [...(this.listeners.get(name) ?? []), listener]);
  }
  off(name, listener) {
    this.listeners.set(name, (this.listeners.get(name) ?? []).filter((it) => it !== listener));
  }
  send(message) {
    this.worker.postMessage({ model: message });
  }
  take(traits) {
    for (const [name, value] of Object.entries(traits)) {
      this.traits[name] = value;
      for (const listener of this.listeners.get(`change:${name}`) ?? []) listener();
    }
  }
}

// -- around the picture ------------------------------------------------------------------------

function show(state) {
  const exact = state.past || !state.speed; // a live picture that moves is drawn once a second
  clock.textContent = exact ? `${(state.at / 1000).toFixed(1)} s` : `${Math.floor(state.at / 1000)} s`;
  mode.value = state.kraft ? "kraft" : "zookeeper";
  if (!state.past || fork.hidden) acks.value = state.acks; // in the past it is a choice for the fork
  fork.hidden = !state.past;
  say(past, state.past ? "You look at the past. Go on from here, with the acks that you choose: what comes later is then another run." : state.forked);
  for (const button of document.querySelectorAll("[data-speed]"))
    button.setAttribute("aria-pressed", String(Number(button.dataset.speed) === state.speed));
  const words = state.violation
    ? `Broken: ${state.violation}. The clock stands still: start again, or go on from an earlier moment.`
    : `All ${state.checked.length} hold. They are checked twice a second.`;
  say(verdict, words);
  say(records, `${state.acknowledged} records were acknowledged. ${lostOf(state)}`);
  verdict.className = state.violation ? "trouble" : "";
  if (!checked.children.length)
    checked.append(...state.checked.map((it) => Object.assign(document.createElement("li"), { textContent: it })));
}

// What is read aloud is set only if it differs.
function say(line, words) {
  if (line.textContent !== words) line.textContent = words;
}

function lostOf({ lost }) {
  if (!lost) return "The leaders have all of them.";
  return `${lost === 1 ? "One of them" : `${lost} of them`} no leader has any more: with acks=1 this can happen.`;
}

function begin() {
  if (typeof WebAssembly !== "object")
    return fail("This browser has no WebAssembly, in which Python runs here. A newer one has it.");
  let worker;
  try {
    worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  } catch (error) {
    return fail(`This browser does not start a worker, in which Python runs here: ${error.message}`);
  }
  const model = new Model(worker);
  let drawn = false;
  worker.onerror = (event) => {
    event.preventDefault();
    fail(`Python could not be started: ${event.message || "its worker was blocked"}. Reload the page to try again.`);
  };
  worker.onmessage = ({ data }) => {
    if (data.failed) return fail(`${data.failed} Reload the page to start again.`);
    if (data.words) {
      progress.querySelector("progress").value = data.share;
      progress.querySelector("span").textContent = `${data.words} ${data.share} %`;
    }
    if (data.traits) model.take(data.traits);
    if (data.traits && !drawn) {
      drawn = true;
      progress.hidden = true;
      tools.hidden = document.getElementById("promises").hidden = false;
      stage.render({ model, el: picture });
    }
    if (data.state) show(data.state);
  };
  mode.onchange = () => worker.postMessage({ begin: mode.value });
  document.getElementById("again").onclick = () => worker.postMessage({ begin: mode.value });
  acks.onchange = () => fork.hidden && worker.postMessage({ acks: acks.value });
  fork.onclick = () => {
    say(past, "The same run is being repeated up to here ...");
    worker.postMessage({ fork: acks.value });
  };
  for (const button of document.querySelectorAll("[data-step]"))
    button.onclick = () => worker.postMessage({ step: Number(button.dataset.step) });
  document.getElementById("speeds").onclick = ({ target }) => {
    if (target.dataset.speed) worker.postMessage({ speed: Number(target.dataset.speed) });
  };
}

// The second visit needs no network: what Python loads is kept by a service worker, which therefore
// has to be there first. Where storage is refused nothing is kept, and the page works all the same.
async function keep() {
  const { serviceWorker } = navigator;
  if (!serviceWorker || serviceWorker.controller) return;
  const taken = new Promise((done) => serviceWorker.addEventListener("controllerchange", done, { once: true }));
  const late = new Promise((done) => setTimeout(done, LATE));
  try {
    await serviceWorker.register("service-worker.js");
    await Promise.race([taken, late]);
  } catch (error) {
    console.info(`Nothing is kept for the next visit: ${error.message}`);
  }
}

keep().then(begin);
