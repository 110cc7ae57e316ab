// Python, the engine and one simulated cluster, beside the page's own thread.
//
//   page ── {model | speed | step | begin} ──> PlaygroundSession.hear
//        <── {traits} {state} ───────────────  and its tick, ten times a second
//        <── {step, words} ──────────────────  while it is loaded

const HOME = new URL("../static/pyodide/", import.meta.url).href;
const TICK = 100; // milliseconds
// For notebooks only.
const LEFT_OUT = /^(brokerlab-labs|ipykernel|jedi|micropip|parso|piplite|pyodide-kernel)$/;
const BEGIN = `
from widgets.playground.session import PlaygroundSession

def begin(send):
    return PlaygroundSession(send)
begin
`;

const heard = [];
let session;

function hear({ data }) {
  if (session) attempt(() => session.hear(JSON.stringify(data)));
  else heard.push(data);
}

// An error of Python, as one sentence: its last line.
function attempt(work) {
  try {
    work();
  } catch (error) {
    session = undefined;
    const lines = String(error.message ?? error).trim().split("\n");
    postMessage({ failed: `The cluster has stopped: ${lines.at(-1)}.` });
  }
}

async function load() {
  const say = (step, words) => postMessage({ step, words });
  say(1, "Python is being loaded: 13 MB on the first visit ...");
  const { loadPyodide } = await import(`${HOME}pyodide.mjs`);
  const python = await loadPyodide({ indexURL: HOME });
  const lock = await (await fetch(`${HOME}pyodide-lock.json`)).json();
  const names = Object.keys(lock.packages).filter((name) => !LEFT_OUT.test(name));
  say(2, "The engine and its packages are being loaded: 7 MB ...");
  await python.loadPackage(names, { messageCallback: () => {}, checkIntegrity: true });
  say(4, "The engine is being imported ...");
  const begin = python.runPython(BEGIN);
  say(5, "Three brokers are starting ...");
  session = begin((message) => postMessage(JSON.parse(message)));
  for (const data of heard.splice(0)) hear({ data });
  setInterval(() => session && attempt(() => session.tick(performance.now())), TICK);
}

addEventListener("message", hear);
load().catch((error) => {
  const words = String(error.message ?? error).trim().split("\n").at(-1);
  postMessage({ failed: `Python could not be started: ${words}.` });
});
