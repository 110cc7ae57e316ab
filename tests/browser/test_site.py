"""The site: built whole, served as plain files, and its recordings gone through in a browser.

Every page that a test opens may ask only its own server, and say nothing wrong in the console.
"""

import gzip
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import SCREENSHOTS
from tests.browser.jupyter import ROOT
from tests.browser.lesson import part
from widgets.ideas.idea import ideas, lab_places
from widgets.ledger import articles

pytestmark = pytest.mark.timeout(1000)  # the first of them has to wait for the site

BACK = re.compile("back to the beginning|further back")
SOURCE = re.compile(r'href="https://github\.com/us/broker-lab/(?:blob|tree)/main/([^"#]+)')
KILLED, ELECTED = "(SIGKILL)", "new leader:"  # events that the failover tells, within one line
FAILOVER = "recordings/failover.html"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `make site` builds it."""
    folder = tmp_path_factory.mktemp("site") / "out"
    repository = ["--repository", "https://github.com/us/broker-lab"]
    command = [sys.executable, str(ROOT / "docs/site/build.py"), str(folder), *repository]
    known = os.pathsep.join([str(ROOT), str(ROOT / "labs")])
    built = subprocess.run(
        command,
        env=os.environ | {"PYTHONPATH": known},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


Visit = Callable[..., Page]


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Visit]:
    """Opens a page of the site in a window of its own."""
    contexts, wrong = [], []

    def visit(name: str, *, theme: str = "light", width: int = 1280, calm: bool = True) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=theme,  # type: ignore[arg-type]
            reduced_motion="reduce" if calm else "no-preference",
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda it: wrong.append(it.text) if it.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        where = urljoin(address, name)
        folder = where.removesuffix(name) or where.rpartition("/")[0]

        def is_foreign(url: str) -> bool:
            return not url.startswith((folder, "data:"))

        page.on("request", lambda it: wrong.append(it.url) if is_foreign(it.url) else None)
        page.goto(where)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert wrong == []


def unfold(page: Page) -> None:
    """Open all that is folded."""
    page.evaluate("document.querySelectorAll('details').forEach((it) => (it.open = true))")


def player(page: Page, name: str) -> Locator:
    """A film, in view and ready to be played."""
    found = page.locator(f'.player[data-film="{name}"]')
    found.scroll_into_view_if_needed()
    expect(found.locator("svg.lab-scene")).to_be_visible()
    found.scroll_into_view_if_needed()
    return found


def clock(film: Locator) -> Locator:
    return part(film, "clock")


def seconds(film: Locator) -> float:
    return float((clock(film).text_content() or "").removesuffix(" s"))


def drag(film: Locator, share: float) -> None:
    """Take hold of the head, and pull it along the timeline."""
    box = part(film, "timeline").bounding_box()
    assert box
    y, mouse = box["y"] + box["height"] / 2, film.page.mouse
    mouse.move(box["x"] + box["width"] / 2, y)
    mouse.down()
    mouse.move(box["x"] + box["width"] * share, y, steps=5)
    mouse.up()


def press(film: Locator, label: str) -> None:
    film.get_by_role("button", name=label, exact=True).click()


def photograph(page: Page, name: str) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"site_{name}.png")


# -- a recording is gone through ---------------------------------------------------------------


def test_the_timeline_is_dragged_and_the_picture_tells_of_that_time(visit: Visit) -> None:
    film = player(visit(FAILOVER), "failover-ClusterView")
    told = film.locator("svg.lab-scene")

    drag(film, 0.02)
    expect(told).not_to_contain_text(KILLED)
    early = seconds(film)
    expect(told).to_contain_text("3 sessions")

    drag(film, 0.5)
    label = part(film, "timeline").get_attribute("aria-label") or ""
    whole = float(label.partition(" of ")[2].partition(" s")[0])
    assert abs(seconds(film) - whole / 2) < 0.5
    expect(told).to_contain_text(KILLED)

    drag(film, 0.99)
    expect(told).to_contain_text(ELECTED)
    assert seconds(film) > early + 10

    drag(film, 0.02)
    expect(told).not_to_contain_text(KILLED)


def test_a_mark_on_the_time_leads_to_what_it_marks(visit: Visit) -> None:
    film = player(visit(FAILOVER), "failover-ClusterView")
    press(film, "back to the beginning")
    expect(clock(film)).to_have_text("0.0 s")

    mark = film.locator('[data-key^="mark broker.killed"]')
    when = re.match(r"[\d.]+", mark.get_attribute("aria-label") or "")
    assert when
    mark.click()

    expect(film.locator("svg.lab-scene")).to_contain_text(KILLED)
    assert abs(seconds(film) - float(when[0])) < 0.25


def test_by_keyboard_it_goes_from_event_to_event(visit: Visit) -> None:
    page = visit(FAILOVER)
    film = player(page, "failover-ClusterView")
    press(film, "back to the beginning")

    part(film, "timeline").focus()
    seen = []
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        seen.append(seconds(film))
    assert seen == sorted({*seen})  # each is later than the one before
    page.keyboard.press("ArrowLeft")
    assert seconds(film) == seen[1]


def test_it_plays_and_can_be_paused_at_any_time(visit: Visit) -> None:
    film = player(visit(FAILOVER), "failover-ClusterView")
    press(film, "back to the beginning")
    press(film, "play")
    expect(clock(film)).not_to_have_text("0.0 s")
    expect(clock(film)).to_have_text(re.compile(r"^[1-9]"))

    press(film, "pause")
    expect(film).to_have_class("player")  # and no longer "playing"
    stands = seconds(film)
    press(film, "a step forward")
    assert seconds(film) > stands


def test_the_film_on_the_start_page_moves_until_it_is_touched(visit: Visit) -> None:
    page = visit("index.html", calm=False)
    film = player(page, "failover-ClusterView")
    expect(film).to_have_class("player playing")
    drag(film, 0.9)
    assert film.get_attribute("class") == "player"

    page.clock.install()
    press(film, "play")
    page.clock.run_for(30_000)
    assert film.get_attribute("class") == "player"  # it has ended, and does not begin anew
    press(film, "a step forward")
    expect(film.locator("svg.lab-scene")).to_contain_text(ELECTED)


def test_left_alone_it_begins_anew(visit: Visit) -> None:
    page = visit("index.html", calm=False)
    page.clock.install()
    film = player(page, "failover-ClusterView")
    expect(film).to_have_class("player playing")
    times = []
    for _ in range(8):
        page.clock.run_for(6_000)
        times.append(seconds(film))
    assert times != sorted(times)
    assert film.get_attribute("class") == "player playing"


def test_who_wants_no_motion_is_shown_none(visit: Visit) -> None:
    film = player(visit("index.html"), "failover-ClusterView")
    assert film.get_attribute("class") == "player"


@pytest.mark.parametrize("run", ["failover", "unclean", "transactions", "oncall", "storm"])
def test_every_view_of_a_recording_is_there_and_goes_on(visit: Visit, run: str) -> None:
    page = visit(f"recordings/{run}.html")
    names = page.locator(".player").evaluate_all("all => all.map((it) => it.dataset.film)")
    assert len(names) >= 4
    for name in names:
        film = player(page, name)
        shown = film.locator("svg.lab-scene")
        before = shown.inner_html()
        film.get_by_role("button", name=BACK).click()
        assert shown.inner_html() != before, f"{name} stands still"


# -- how it looks ------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    "name",
    [
        *("index", "labs/02_replication", "labs/09_operations", "docs/articles/kafka-mechanism"),
        *(f"recordings/{run}" for run in ("failover", "transactions", "oncall", "storm")),
    ],
)
def test_pages_are_light_or_dark_as_the_reader_is(visit: Visit, name: str, theme: str) -> None:
    page = visit(f"{name}.html", theme=theme)
    unfold(page)
    for each in page.locator(".player").all()[:1]:
        each.scroll_into_view_if_needed()
        expect(each.locator("svg.lab-scene")).to_be_visible()
        paper = each.locator(".lab-stage").evaluate("it => getComputedStyle(it).backgroundColor")
        assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(17, 20, 24)"}[theme]
    photograph(page, f"{name.partition('/')[2] or name}_{theme}")


def test_the_pages_own_switch_turns_the_pictures_too(visit: Visit) -> None:
    page = visit(FAILOVER)
    stage = player(page, "failover-ClusterView").locator(".lab-stage")
    page.locator("body").evaluate('it => (it.dataset.theme = "dark")')
    expect(stage).to_have_css("background-color", "rgb(17, 20, 24)")
    page.locator("body").evaluate('it => (it.dataset.theme = "light")')
    expect(stage).to_have_css("background-color", "rgb(255, 255, 255)")


@pytest.mark.parametrize(
    "name",
    [
        *("index", "recordings/failover", "labs/03_rebalance", "docs/coverage"),
        "docs/articles/spring-boot",
    ],
)
def test_on_a_phone_nothing_sticks_out(visit: Visit, name: str) -> None:
    page = visit(f"{name}.html", width=390)
    unfold(page)
    for each in page.locator(".player").all()[:1]:
        each.scroll_into_view_if_needed()
        expect(each.locator("svg.lab-scene")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    photograph(page, f"{name.partition('/')[2] or name}_phone")


@pytest.mark.parametrize("seed", range(10))
def test_from_an_article_it_is_a_click_to_what_speaks_against_a_claim_and_one_to_the_cell(
    visit: Visit, seed: int
) -> None:
    """The fold has cases; the link leads to the heading above the card, which has its basis, and
    which a click shows."""
    article = Random(seed).choice(articles.read())
    claim = Random(seed).choice(sorted(article.keys))
    page = visit(f"docs/articles/{article.page}.html")
    fold = page.locator(f"p:has(#{claim.lower()}) ~ details").first
    expect(fold.locator("li").first).to_be_hidden()
    fold.locator("summary").click()
    expect(fold.locator("li").first).to_be_visible()
    page.locator(f"p:has(#{claim.lower()}) ~ p:has-text('claim {claim}') a[href*='/labs/']").click()
    section = page.locator(f"section[id='{unquote(urlsplit(page.url).fragment)}']")
    expect(section.locator(f"#{claim} .lab-basis")).to_be_hidden()
    section.locator(f"details:has(> .cell_output #{claim}) > summary").click()
    expect(section.locator(f"#{claim} .lab-basis")).to_be_visible()


@pytest.mark.parametrize("width", [390, 800, 1366, 1920])
@pytest.mark.parametrize(
    "name", [f"recordings/{run}" for run in ("failover", "transactions", "oncall", "storm")]
)
def test_a_film_is_laid_out_for_its_page(visit: Visit, name: str, width: int) -> None:
    """No text is drawn smaller than it is meant, and nothing is scrolled within a picture."""
    page = visit(f"{name}.html", width=width)
    for each in page.locator(".player").all():
        film = player(page, each.get_attribute("data-film") or "")
        scene, frame = film.locator("svg.lab-scene"), film.locator(".lab-frame")
        assert scene.evaluate("it => it.getScreenCTM().a") >= 0.98
        assert frame.evaluate("it => it.scrollWidth <= it.clientWidth")
    if width == 390:
        buttons = page.locator(".player .lab-button:visible").all()
        boxes = [box for button in buttons if (box := button.bounding_box())]
        assert min(min(box["width"], box["height"]) for box in boxes) >= 44  # px, for a finger
    photograph(page, f"{name.partition('/')[2]}_{width}")


def test_a_phone_that_is_turned_plays_on_from_the_same_moment(visit: Visit) -> None:
    page = visit(FAILOVER, width=390)
    film = player(page, "failover-ClusterView")
    drag(film, 0.3)
    time, scene = seconds(film), film.locator("svg.lab-scene")
    narrow = scene.get_attribute("viewBox") or ""
    page.set_viewport_size({"width": 844, "height": 390})
    expect(scene).not_to_have_attribute("viewBox", narrow)
    assert seconds(film) == time
    assert scene.evaluate("it => it.getScreenCTM().a") >= 0.98


@pytest.mark.parametrize(
    ("name", "count"),
    [
        *(("00_start", 2), ("02_replication", 2), ("03_rebalance", 1)),
        *(("07_promises", 1), ("09_operations", 1)),
    ],
)
def test_a_lab_plays_recordings(visit: Visit, name: str, count: int) -> None:
    page = visit(f"labs/{name}.html")
    films = page.locator(".player")
    expect(films).to_have_count(count)
    film = films.first
    expect(film).to_be_hidden()
    page.locator("details.film > summary").first.click()
    film.scroll_into_view_if_needed()
    expect(film.locator("svg.lab-scene")).to_be_visible()
    before = film.locator("svg.lab-scene").inner_html()
    press(film, "back to the beginning")
    assert film.locator("svg.lab-scene").inner_html() != before
    photograph(page, f"lab_{name}")


@pytest.mark.parametrize("width", [390, 1366])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nobody_sees_what_came_out_before_a_click(visit: Visit, theme: str, width: int) -> None:
    page = visit("labs/01_storage.html", theme=theme, width=width)
    expect(page.get_by_text("How many folders of this topic are there")).to_be_visible()
    outputs = page.locator(".cell_output:not(:has(ol))")
    assert outputs.count() > 50
    assert outputs.evaluate_all("all => all.filter((it) => it.checkVisibility())") == []
    fold = page.locator("details", has_text="What happened: Five.")
    fold.scroll_into_view_if_needed()
    photograph(page, f"folded_{theme}_{width}")
    expect(fold.locator("pre")).to_be_hidden()
    fold.locator("summary").click()
    expect(fold.locator("pre")).to_have_text(
        "What happened: Five. A partition is a folder, and one replica means one folder.\n"
    )
    photograph(page, f"unfolded_{theme}_{width}")


def test_a_term_says_what_it_means_and_leads_to_the_glossary(visit: Visit) -> None:
    page = visit("labs/02_replication.html")
    link = page.get_by_role("link", name="high watermark").first
    expect(link).to_have_attribute("title", ideas()["high watermark"].words)
    link.click()
    expect(page.locator("section#high-watermark h2")).to_be_in_viewport()


@pytest.mark.parametrize("width", [390, 1366])
def test_a_card_of_the_map_leads_to_the_lab_that_shows_it(visit: Visit, width: int) -> None:
    page = visit("docs/map.html", width=width)
    expect(page.locator("object.map")).to_be_visible()
    picture = page.frame(url=re.compile(r"map\.svg"))
    assert picture
    card = picture.locator("a", has_text="acks")
    assert card.evaluate("it => it.getScreenCTM().a") > 0.9  # so its text is hardly smaller
    card.click()
    place = lab_places()[ideas()["acks"].cell]
    expect(page).to_have_url(re.compile(f"labs/{place.lab}.html#"))
    expect(page.locator("section:target h2").first).to_be_in_viewport()


def test_on_no_screen_is_text_cut_off(visit: Visit) -> None:
    page = visit("labs/03_rebalance.html")
    for width in (360, 700, 800, 1000, 1080, 1120, 1200, 1300, 1900):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(f"innerWidth === {width}")
        right = page.locator("article").evaluate("it => it.getBoundingClientRect().right")
        assert right <= width


def test_a_thumb_has_a_slider_for_the_time(visit: Visit) -> None:
    film = player(visit(FAILOVER, width=390), "failover-ClusterView")
    assert 0.45 < float(film.get_by_label("time", exact=True).input_value()) <= 0.5
    film.get_by_label("time", exact=True).fill("1")
    expect(film.locator("svg.lab-scene")).to_contain_text(ELECTED)
    film.get_by_label("time", exact=True).fill("0")
    expect(clock(film)).to_have_text("0.0 s")


# -- and where it is read ----------------------------------------------------------------------


def test_it_can_be_read_from_a_folder_without_a_server(visit: Visit, site: Path) -> None:
    film = player(visit((site / "index.html").as_uri()), "failover-ClusterView")
    press(film, "to the end")
    expect(film.locator("svg.lab-scene")).to_contain_text(ELECTED)


def test_links_to_source_files_lead_to_where_they_are_in_the_repository(site: Path) -> None:
    text = "".join(path.read_text() for path in sorted(site.rglob("*.html")))
    named = {unquote(path) for path in SOURCE.findall(text)}
    assert len(named) > 20
    assert {path for path in named if not (ROOT / path).exists()} == set()


def test_no_film_is_larger_than_a_photograph(site: Path) -> None:
    """As a web server packs it."""
    films = sorted((site / "_static" / "films").glob("*.js"))
    assert len(films) >= 12
    for each in films:
        assert len(gzip.compress(each.read_bytes())) < 300_000, each.name
