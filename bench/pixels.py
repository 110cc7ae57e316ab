"""From an event to its pixels, with ten views of one cluster: `python -m bench.pixels`.

    kernel                                   Chromium
    cluster.kill(1) ── event ── picture ──>  stage.js draws ── the next frame is on the screen

    [2] five views    in two rows, on the screen: a page of 1280 x HIGH px
    [3] a tall text
    [4] five views    scrolled out: only recorded

JupyterLab is started as `make lab` starts it. The clock of the event and that of the page are those
of one machine. The times of several kills are told, and the load: whoever uses the machine at the
time makes them longer.
"""

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect, sync_playwright

from tests.browser.conftest import FLAGS, chromium
from tests.browser.jupyter import Notebook, running_lab
from tests.limits import START_S

HIGH = 1500  # px: five views in two rows are on the screen
START = """from engine import Cluster
from widgets import ClusterView, ReplicaView, WireView, ZooKeeperTree
from IPython.display import HTML, display
cluster = Cluster(brokers=3, config={"zookeeper.session.timeout.ms": "2000"}).start()
cluster.topic("orders", partitions=3, replicas=3)
def five():
    return [ClusterView(cluster), ReplicaView(cluster, "orders", 0), WireView(cluster),
            ReplicaView(cluster, "orders", 1), ZooKeeperTree(cluster)]
print("started")"""
SHOWN = """from ipywidgets import GridBox, Layout
near = five(); GridBox(near, layout=Layout(grid_template_columns="33% 33% 33%"))"""
FAR = "far = five(); display(HTML('<div style=\"height: 12000px\">far</div>'), *far)"
# The kill waits in a thread until the page shows five views, and the other five are out of sight.
KILL = """import json, threading, time
def strike():
    while not (all(it.visible for it in near) and not any(it.visible for it in far)):
        time.sleep(0.05)
    time.sleep(2)
    leader = cluster.leader("orders")
    cluster.kill(leader)
    cluster.wait("a new leader", lambda: cluster.leader("orders") not in (leader, -1))
striking = threading.Thread(target=strike)
striking.start(); print("armed")"""
TELL = """striking.join()
told = cluster.events()
killed = [it for it in told if it.kind == "broker.killed"][-1]
elected = [it for it in told if it.kind == "leader.elected" and it.data["topic"] == "orders"
           and it.data["partition"] == 0][-1]
print(json.dumps([killed.data["broker"], killed.at, elected.data["leader"], elected.at]), "told")"""
MEND = "cluster.mend(); print('mended')"
# A frame that has the change is on the screen once the task after its callback runs.
NOTE = """(scene) => {
    window.noted = [];
    new MutationObserver((changes) => {
        const told = changes.map(({ target }) => [
            target.closest('[data-key^="broker "]')?.dataset.key, target.dataset.key,
            target.getAttribute("aria-label")]);
        requestAnimationFrame(() => setTimeout(() => {
            for (const each of told) noted.push([Date.now(), ...each]);
        }));
    }).observe(scene, { subtree: true, attributes: true, attributeFilter: ["aria-label"] });
}"""

OVER = """() => {  // a broker was killed, and what it led is led by others
    const died = noted.findIndex((it) => /killed, leads [1-9]/.test(it[3]));
    return died >= 0 && noted.slice(died).some((it) => /killed, leads 0/.test(it[3]));
}"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--kills", type=int, default=5)
    kills = options.parse_args().kills
    with tempfile.TemporaryDirectory() as home, running_lab(Path(home)) as lab:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
            page = browser.new_page(viewport={"width": 1280, "height": HIGH})
            page.set_default_timeout(START_S * 1000)
            page.goto(lab.page("labs"))
            measure(page, kills)
            browser.close()
        lab.end_kernels()
    print(f"load of the machine: {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")


def measure(page: Page, kills: int) -> None:
    notebook = Notebook(page)
    expect(notebook.run(START)).to_contain_text("started")
    scene = notebook.run(SHOWN).locator("svg.lab-scene").first
    notebook.run(FAR)
    expect(scene).to_be_visible()
    scene.scroll_into_view_if_needed()
    scene.evaluate(NOTE)
    found = [kill(page, notebook) for _ in range(kills)]
    for name, times in zip(("a kill", "a new leader"), zip(*found, strict=True), strict=True):
        told = ", ".join(f"{it:.0f}" for it in sorted(times))
        print(f"event to pixel, ten views: {name} {told} ms")


def kill(page: Page, notebook: Notebook) -> tuple[float, float]:
    """ms from the death of a leader, and from the election, until the page shows it."""
    page.evaluate("noted.length = 0")
    expect(notebook.run(KILL)).to_contain_text("armed")
    notebook.panel.locator("svg.lab-scene").first.scroll_into_view_if_needed()
    page.wait_for_function(OVER)
    output = notebook.run(TELL)
    expect(output).to_contain_text("told")
    leader, killed, elected, at = json.loads(output.inner_text().rpartition("told")[0])
    died = first(page, killed, f"broker {leader}", f"broker {leader}", "killed")
    leads = first(page, at, f"broker {elected}", "orders-0", ": leader")
    expect(notebook.run(MEND)).to_contain_text("mended")
    return died - killed, leads - at


def first(page: Page, after: float, *what: str) -> float:
    """When a shape in a broker was first told something, ms since 1970."""
    found: Any = page.wait_for_function(
        "([after, broker, key, words]) => noted.find((it) => it[0] >= after - 1 &&"
        " it[1] === broker && it[2] === key && it[3]?.includes(words))",
        arg=[after, *what],
    )
    return float(found.json_value()[0])


if __name__ == "__main__":
    main()
