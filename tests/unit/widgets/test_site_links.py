"""A link of the site that leads nowhere is told, and whatever a page would fetch from elsewhere."""

import importlib.util
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[3] / "docs" / "site" / "links.py"


@pytest.fixture(scope="module")
def links():
    """It is a script's neighbour, and in no package."""
    spec = importlib.util.spec_from_file_location("site_links", SOURCE)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        yield module


@pytest.fixture
def site(tmp_path):
    """Two pages and a style sheet, with nothing wrong in them."""
    (tmp_path / "style.css").write_text('a { background: url("data:image/png;base64,xx") }')
    (tmp_path / "b.html").write_text('<h2 id="here">B</h2><a href="#here">up</a>')
    write(tmp_path, '<a href="b.html#here">b</a>')
    return tmp_path


def write(site, body):
    head = '<link rel="stylesheet" href="style.css">'
    (site / "a.html").write_text(f"<html><head>{head}</head><body>{body}</body></html>")


def test_a_whole_site_has_no_faults(links, site):
    report = links.check(site)
    assert (report.pages, report.inside, report.faults) == (2, 3, [])


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="c.html">c</a>', "a.html: there is no c.html"),
        ('<a href="b.html#there">b</a>', "a.html: b.html#there has no such place in it"),
        ('<a href="#there">down</a>', "a.html: #there has no such place in it"),
        ('<img src="b.png">', "a.html: there is no b.png"),
        ('<a href="../a.html">out</a>', "a.html: there is no ../a.html"),
        (
            '<script src="https://cdn.example/x.js"></script>',
            "a.html needs https://cdn.example/x.js, which is not its own",
        ),
        (
            '<link rel="preconnect" href="//fonts.example">',
            "a.html needs //fonts.example, which is not its own",
        ),
        (
            '<p style="background: url(https://x.example/p.png)">',
            "a.html needs https://x.example/p.png, which is not its own",
        ),
    ],
)
def test_each_fault_is_reported_with_its_page(links, site, body, fault):
    write(site, body)
    assert links.check(site).faults == [fault]


@pytest.mark.parametrize("style", ["@import '//x.example/f.css'", "src: url(https://x.example/f)"])
def test_a_style_sheet_fetches_nothing(links, site, style):
    (site / "style.css").write_text(style)
    [fault] = links.check(site).faults
    assert fault.startswith("style.css needs ") and "x.example/f" in fault


def test_links_to_elsewhere_are_counted_and_not_followed(links, site):
    write(site, '<a href="https://example.org/">out</a>')
    report = links.check(site)
    assert report.faults == []
    assert report.outside == {"https://example.org/": 1}
