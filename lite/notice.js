// One sentence below a page of the browser edition, for each thing that this browser does not do; and
// the page is kept for a visit without network.
//
// <script src="../notice.js" data-about="python storage tabs">  what this page does not tell by itself

const about = new Set(document.currentScript.dataset.about.split(" "));
const HEARD = 500; // milliseconds in which another tab answers

function show(words) {
  const line = document.createElement("p");
  line.setAttribute("role", "status");
  line.className = "lite-notice";
  line.style.cssText =
    "margin:0;padding:.5rem .75rem;display:flex;gap:.75rem;align-items:center;" +
    "font:14px/1.4 system-ui,sans-serif;color:#1b1f24;background:#fff4d6;border:1px solid #b8860b;border-radius:6px";
  const close = document.createElement("button");
  close.textContent = "✕";
  close.setAttribute("aria-label", "close this notice");
  close.style.cssText = "font:inherit;border:0;background:none;color:inherit;cursor:pointer";
  close.onclick = () => line.remove();
  line.append(words, close);
  place().append(line);
}

function place() {
  const found = document.getElementById("lite-notices");
  if (found) return found;
  const made = document.createElement("div");
  made.id = "lite-notices";
  made.style.cssText =
    "position:fixed;bottom:2rem;left:50%;transform:translateX(-50%);z-index:10000;width:min(46rem,94vw);" +
    "display:grid;gap:.4rem";
  document.body.append(made);
  return made;
}

function python() {
  if (typeof WebAssembly !== "object")
    return show("This browser has no WebAssembly, in which Python runs here. A newer one has it.");
  const address = URL.createObjectURL(new Blob([""], { type: "text/javascript" }));
  try {
    new Worker(address).terminate();
  } catch (error) {
    show(`This browser does not start a worker, in which Python runs here: ${error.message}`);
  }
  URL.revokeObjectURL(address);
}

// What a learner changes lies in IndexedDB. A service worker brings it to Python.
async function storage() {
  try {
    await new Promise((done, refused) => {
      const asked = indexedDB.open("lite-notice");
      asked.onsuccess = () => done(asked.result.close());
      asked.onerror = () => refused(asked.error);
    });
    if (!navigator.serviceWorker) throw new Error("no service worker");
    await navigator.serviceWorker.getRegistrations();
  } catch (error) {
    show("This browser keeps nothing of this page: what you change and answer is gone when its tab is closed.");
    console.info(`Storage was refused: ${error?.message}`);
  }
}

// Each tab asks the others, and answers those that ask.
function tabs() {
  const channel = new BroadcastChannel("brokerlab-tabs");
  let open = true;
  channel.onmessage = ({ data }) => {
    if (data === "who is there?") channel.postMessage("another tab");
    else if (open) {
      open = false;
      show("This site is open in another tab, too: each tab has a Python and a cluster of its own.");
    }
  };
  channel.postMessage("who is there?");
  setTimeout(() => (open = false), HEARD);
}

// What was loaded before there was a service worker is asked for again: from the browser's cache, and
// now the worker keeps it for the next visit. `data-kept` says that all of it is there.
function keep() {
  const kept = () => (document.documentElement.dataset.kept = "yes");
  if (!navigator.serviceWorker) return;
  if (navigator.serviceWorker.controller) return kept();
  const again = async () => {
    const loaded = performance.getEntriesByType("resource").map((it) => it.name);
    const own = loaded.filter((it) => it.startsWith(location.origin));
    for (const address of [location.href, ...own])
      await fetch(address).catch((error) => console.info(`${address} is not kept: ${error.message}`));
    kept();
  };
  navigator.serviceWorker.addEventListener("controllerchange", again, { once: true });
}

addEventListener("DOMContentLoaded", () => {
  if (about.has("python")) python();
  if (about.has("storage")) storage();
  if (about.has("tabs")) tabs();
  if (about.has("keep")) keep();
});
