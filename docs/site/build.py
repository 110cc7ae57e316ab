"""The whole site, from this tree, into build/site/ or a new folder that is named:

    PYTHONPATH=labs python docs/site/build.py [FOLDER] [--repository https://github.com/ME/broker-lab]
                                              [--lite build/lite]

    docs/*.md, labs/*.ipynb ──> build/pages/ ── Sphinx, conf.py ──┐
    recordings ── widgets.site ──> films, a still of each ────────┤
    the oracle's situations ── run ──> oracle-questions.js ────────┤
    widgets/static/ ──> stage.js, widgets.css ────────────────────┴──> build/site/ ── links.py

No lab is run: what is saved of it (labs/.saved/) is shown to those who ask, and the films are made
from the recordings in labs/recorded/. The site needs neither a server nor a network. `--lite` puts
the browser edition into it, which does need a server, and offers it on the first page.
"""

import argparse
import json
import os
import re
import shutil
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import links
import moved
import oracle_page
import recordings
import stills
from address import GIVEN, address
from docutils.nodes import make_id
from recorded import RUNS, view
from sphinx.cmd.build import build_main

from widgets import palette
from widgets.ideas.drawing import idea_map
from widgets.ideas.idea import ideas, lab_places
from widgets.site import film, style

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
USUAL = ROOT / "build" / "site"
MOMENT = 0.5  # of a run, at which its stills are taken
IMAGE = re.compile(r"!\[([^]]*)]\(map\.svg\)")
OBJECT = (
    '<object class="map" type="image/svg+xml" data="../_static/map.svg" aria-label="\\1"></object>'
)
LAB = "lite/lab/index.html?path=labs/00_start.ipynb"
OFFER = f"""\
- <strong>Try it here: <a href="lite/playground/">a cluster in this tab</a></strong>, to kill, cut
  and slow by hand, or <a href="{LAB}">the labs in this tab</a>, from the first ten minutes on.
  Nothing is installed.
"""
FIRST_OFFER = "- **[Recordings]"  # what the first page offers otherwise
EXPORT = "export default { render };"


def main(out: Path, lite: Path | None = None) -> None:
    began = time.monotonic()
    if out == USUAL:
        shutil.rmtree(out, ignore_errors=True)
    elif out.exists():
        raise SystemExit(f"{out} is there already: name a folder that is yet to be made.")
    pages = out.parent / f"{out.name}-pages"
    shutil.rmtree(pages, ignore_errors=True)
    print(f"The repository: {address() or 'not known; name it by --repository URL'}")
    gather(pages, offers_lite=lite is not None)
    print("Making films of the recordings ...", flush=True)
    size = shoot(pages / "films")
    script(pages / "static")
    link_map(pages)
    print("Running the oracle's situations ...", flush=True)
    questions = pages / "static" / "oracle-questions.js"
    print(oracle_page.write(questions, make_id))
    print("Making the pages (a minute or two) ...", flush=True)
    options = ["-c", HERE, "-W", "--keep-going", "-q", "-j", "2", "-d", pages / ".doctrees"]
    static = ["-D", f"html_static_path=_static,{pages / 'static'}"]
    if failed := build_main([*map(str, options), *static, str(pages), str(out)]):
        raise SystemExit(failed)
    shutil.copytree(pages / "films", out / "_static" / "films")
    moved.write(out)
    print("Following every link ...", flush=True)
    if lite is not None:
        shutil.copytree(lite, out / links.LITE)
    report = links.check(out)
    if report.faults:
        raise SystemExit("\n".join(["These links lead nowhere:", *report.faults]))
    links_checked = f"{report.inside:,} links within them checked"
    print(f"{report.pages} pages, {links_checked}, {size}, {time.monotonic() - began:.0f} s")
    print(f"Open {os.path.relpath(out / 'index.html')}, or put the folder on any web server.")


# -- what the pages are made of ----------------------------------------------------------------


def gather(pages: Path, *, offers_lite: bool) -> None:
    """The sources of all pages, in one folder."""
    shutil.copytree(ROOT / "docs", pages / "docs", ignore=shutil.ignore_patterns("site"))
    (pages / "labs").mkdir()
    shutil.copy(ROOT / "labs" / "README.md", pages / "labs")
    for notebook in sorted((ROOT / "labs").glob("*.ipynb")):
        stills.explain(notebook, pages / "labs" / notebook.name)
    start = (HERE / "index.md").read_text(encoding="utf-8")
    assert FIRST_OFFER in start, f"index.md has no line that begins with {FIRST_OFFER}"
    if offers_lite:
        start = start.replace(FIRST_OFFER, OFFER + FIRST_OFFER)
    (pages / "index.md").write_text(_named(_moved_up(start)), encoding="utf-8")
    recordings.write(pages / "recordings", RUNS)


def _moved_up(text: str) -> str:
    """Its links start in docs/site/, and the page stands at the top of the site."""
    return text.replace("](../../", "](").replace("](../", "](docs/")


def _named(text: str) -> str:
    """With the repository's address, or, where nobody knows it, without the lines that need one."""
    if repository := address():
        return text.replace("REPOSITORY", repository)
    return text.replace("    git clone REPOSITORY broker-lab\n    cd broker-lab\n", "")


def shoot(folder: Path) -> str:
    """Films of each view on each run, one for each width; how large they are, in words."""
    folder.mkdir(parents=True)
    wanted = [
        (folder, name, kind, width)
        for name, run in RUNS.items()
        for kind in run.views
        for width in film.WIDTHS
    ]
    with ProcessPoolExecutor(2) as helpers:
        sizes = []
        for size in helpers.map(_shoot, wanted):
            sizes.append(size)
            if len(sizes) % 20 == 0:
                print(f"  {len(sizes)} of {len(wanted)} films", flush=True)
    return f"{len(sizes)} films of {max(sizes) / 1000:,.0f} kB at most"


def _shoot(wanted: tuple[Path, str, str, int]) -> int:
    folder, name, kind, width = wanted
    stage = view(name, kind)
    stage.fit(width)
    told = film.shoot(stage, MOMENT)
    data = json.dumps(told.film, separators=(",", ":"), ensure_ascii=False)
    title = f"{name}-{kind}-{width}"
    call = f'brokerlab.film("{title}", {data});\n'
    (folder / f"{title}.js").write_text(call, encoding="utf-8")
    if width == max(film.WIDTHS):
        (folder / f"{name}-{kind}.svg").write_text(told.still, encoding="utf-8")
    stage.close()
    return len(data.encode())


def link_map(pages: Path) -> None:
    """The map of ideas, whose cards lead to the labs: as an object, for an image has no links."""
    places = lab_places()
    links = {
        idea.name: f"../labs/{place.lab}.html#{make_id(place.section)}"
        for idea in ideas().values()
        for place in [places[idea.cell]]
    }
    picture = idea_map(ideas()).svg(links)
    (pages / "static" / "map.svg").write_text(picture, encoding="utf-8")
    page = pages / "docs" / "map.md"
    text, count = IMAGE.subn(OBJECT, page.read_text(encoding="utf-8"))
    assert count == 1, f"{page} has no picture, or several"
    page.write_text(text, encoding="utf-8")


def script(folder: Path) -> None:
    """The widgets' own script and looks. A module can't be read from a folder without a server,
    so what it exports is hung up where player.js finds it."""
    folder.mkdir(parents=True)
    module = palette.script()
    assert module.count(EXPORT) == 1, "stage.js exports something else now: tell player.js"
    plain = module.replace(EXPORT, "window.brokerlab = { render };")
    (folder / "stage.js").write_text(f"(() => {{\n{plain}\n}})();\n", encoding="utf-8")
    (folder / "widgets.css").write_text(style.sheet(), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Build the site.")
    parser.add_argument("folder", nargs="?", type=Path, default=USUAL, help="a folder to be made")
    parser.add_argument("--repository", help="its address; otherwise that of the remote origin")
    parser.add_argument("--lite", type=Path, help="the browser edition, which make lite has built")
    asked = parser.parse_args()
    if asked.repository is not None:
        os.environ[GIVEN] = asked.repository
    main(asked.folder.resolve(), asked.lite)
