// In front of JupyterLite's own service worker: with both, the second visit needs no network.
//
//   labs, Python, scripts     JupyterLite's: from its cache, and asked for anew behind it
//   api/contents/all.json     lists of files, which JupyterLite's never keeps: newest first

const LISTS = "lists-of-files";

async function newest(request) {
  const cache = await caches.open(LISTS);
  try {
    const found = await fetch(request);
    if (found.ok) await cache.put(request, found.clone());
    return found;
  } catch (error) {
    return (await cache.match(request, { ignoreSearch: true })) ?? Response.error();
  }
}

addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  const { origin, pathname } = new URL(url);
  if (method === "GET" && origin === location.origin && pathname.endsWith("/all.json"))
    event.respondWith(newest(event.request));
});

importScripts("jupyterlite-service-worker.js");
