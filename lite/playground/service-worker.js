// Keeps what the playground has loaded, so that the next visit needs no network.
//
// Each build has a cache of its own: lite/playground_page.py puts its version in. What an older build
// has kept is removed when this one takes over.

const KEPT = "playground-@VERSION@";

const PAGE = ["./", "favicon.svg", "playground.css", "playground.js", "stage.js", "widgets.css", "worker.js", "../notice.js"];

// The page itself was loaded before this worker was there.
async function install() {
  const cache = await caches.open(KEPT);
  await cache.addAll(PAGE);
  await skipWaiting();
}

addEventListener("install", (event) => event.waitUntil(install()));
addEventListener("activate", (event) => {
  const old = (name) => name.startsWith("playground-") && name !== KEPT;
  const tidy = async () => {
    for (const name of (await caches.keys()).filter(old)) await caches.delete(name);
    await clients.claim();
  };
  event.waitUntil(tidy());
});

async function answer(request) {
  const cache = await caches.open(KEPT);
  const kept = await cache.match(request, { ignoreSearch: true });
  if (kept) return kept;
  const found = await fetch(request);
  if (found.ok) await cache.put(request, found.clone());
  return found;
}

addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  if (method !== "GET" || !url.startsWith(location.origin)) return;
  event.respondWith(answer(event.request).catch(() => fetch(event.request)));
});
