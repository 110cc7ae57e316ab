// Python, the engine and one simulated cluster, beside the page's own thread.
//
//   page ── {model | speed | step | acks | fork | begin} ──> PlaygroundSession.hear
//        <── {traits} {state} ─────────────────────────────  and its tick, ten times a second
//        <── {share, words} ───────────────────────────────  while it is loaded

const HOME = new URL("../static/pyodide/", import.meta.url).href;
const TICK = 100; // milliseconds
const BYTES = Number("@BYTES@"); // of all that is loaded; lite/playground_page.py puts it in
const LOADED = 80; // percent of the wait, when all bytes are there; the rest is Python's own work
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

// The page is told how many of the bytes have come, of whatever Pyodide fetches.
function countBytes(tell) {
  const ask = fetch;
  let come = 0;
  globalThis.fetch = async (...request) => {
    const answer = await ask(...request);
    if (!answer.body) return answer;
    const counted = new TransformStream({
      transform(chunk, out) {
        come += chunk.byteLength;
        tell(Math.min(come / BYTES, 1));
        out.enqueue(chunk);
      },
    });
    const { status, statusText, headers } = answer;
    return new Response(answer.body.pipeThrough(counted), { status, statusText, headers });
  };
}

async function load() {
  let [words, told] = ["", -1];
  const say = (share) => share !== told && postMessage({ share: (told = share), words });
  const megabytes = Math.round(BYTES / 1e6);
  countBytes((share) => say(Math.round(LOADED * share)));
  words = `Python and the engine are being loaded: ${megabytes} MB on the first visit ...`;
  say(0);
  const { loadPyodide } = await import(`${HOME}pyodide.mjs`);
  const python = await loadPyodide({ indexURL: HOME });
  const lock = await (await fetch(`${HOME}pyodide-lock.json`)).json();
  const names = Object.keys(lock.packages).filter((name) => !LEFT_OUT.test(name));
  await python.loadPackage(names, { messageCallback: () => {}, checkIntegrity: true });
  words = "The engine is being imported ...";
  say(85);
  const begin = python.runPython(BEGIN);
  words = "Three brokers are starting ...";
  say(95);
  session = begin((message) => postMessage(JSON.parse(message)));
  for (const data of heard.splice(0)) hear({ data });
  setInterval(() => session && attempt(() => session.tick(performance.now())), TICK);
}

addEventListener("message", hear);
load().catch((error) => {
  const words = String(error.message ?? error).trim().split("\n").at(-1);
  postMessage({ failed: `Python could not be started: ${words}.` });
});
