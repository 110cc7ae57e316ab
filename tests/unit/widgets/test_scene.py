"""A picture is data: compact on its way to the browser, and a document that stands alone."""

import json
import re
from xml.etree import ElementTree

import pytest

from widgets import palette
from widgets.scene import (
    ABOUT,
    Act,
    Scene,
    chip,
    circle,
    fit,
    group,
    line,
    path,
    rect,
    text,
    travel,
    width_of,
    wrap,
)

EVERY_KIND = [
    rect("r", 1, 2, 30, 40, 5, look="card", label="a <card> & more"),
    circle("c", 1, 2, 3),
    line("l", 0, 0, 5, 5.25),
    path("p", "M0 0h10", 7, 8),
    text("t", 5, 5, "less < more", ABOUT),
    chip("h", (1, 2), (20, 15), "L", 4, 2, look="leader"),
    group("g", 10, 20, [text("inner", 0, 0, "inside")]),
    travel("v", "M0 0L9 9"),
]


def test_a_shape_is_a_short_list_without_what_it_has_not():
    button = rect("b1", 14.0, 150.04, 234, 176, look="card", label="broker 1")
    assert button.row() == ["rect", "b1", [14, 150, 234, 176], "card", "", "broker 1"]
    assert line("l", 0, 0, 5, 5.25).row() == ["line", "l", [0, 0, 5, 5.2]]


def test_acts_carry_their_words():
    acts = (Act("kill", "2", "kill (SIGKILL)"), Act("heal"))
    row = rect("b", 0, 0, 1, 1, label="broker 2", acts=acts).row()
    assert row[-1] == [["kill", "2", "kill (SIGKILL)"], ["heal", None, "heal"]]


def test_what_can_be_done_something_with_can_be_reached():
    assert rect("b", 0, 0, 1, 1, acts=(Act("kill"),)).does
    assert rect("b", 0, 0, 1, 1, drag="seek").does
    assert rect("b", 0, 0, 1, 1, kin="crc").does
    assert not rect("b", 0, 0, 1, 1, label="seen only").does


def test_a_scene_goes_through_json_unchanged():
    rows = Scene(100, 50, EVERY_KIND, title="all").rows()
    assert json.loads(json.dumps(rows)) == rows


def test_an_svg_stands_alone():
    root = ElementTree.fromstring(Scene(100, 50, EVERY_KIND, title="all & sundry").svg())

    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["less < more", "L", "inside"]
    titles = [each.text for each in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles == ["all & sundry", "a <card> & more"]
    style = next(root.iter("{http://www.w3.org/2000/svg}style")).text or ""
    assert "prefers-color-scheme: dark" in style
    assert "http" not in style  # nothing is fetched


def test_a_still_keeps_its_looks_without_a_style_sheet():
    """GitHub removes it. With it the same attributes become the dark colours."""
    drawn = Scene(100, 50, [rect("r", 0, 0, 1, 1, look="card away")]).still()
    root = ElementTree.fromstring(drawn)
    _, _, card, shape = root
    assert card.attrib["fill"] == palette.LIGHT["paper"]
    assert shape.attrib["fill"] == palette.LIGHT["panel"]
    assert shape.attrib["stroke-dasharray"] == "5 4"
    assert f'[fill="{palette.LIGHT["panel"]}"]{{fill:{palette.DARK["panel"]}}}' in drawn
    assert "var(" not in drawn


@pytest.mark.parametrize(("width", "shown"), [(300, "300"), (639, "639"), (640, "100%")])
def test_a_still_for_a_narrow_page_is_not_blown_up(width, shown):
    root = ElementTree.fromstring(Scene(width, 50, []).still())
    assert root.attrib["width"] == shown


def test_every_shape_is_found_by_its_key():
    scene = Scene(100, 50, EVERY_KIND)
    assert scene["inner"].content == "inside"
    assert scene["r"].where == (1, 2, 30, 40, 5)


def test_words_are_wrapped_and_cut_to_the_room_there_is():
    words = "the controller takes a leader from the replicas in sync"
    lines = wrap(words, 120)
    assert len(lines) > 1
    assert " ".join(lines) == words
    assert all(width_of(each) <= 120 for each in lines)
    assert fit("short", 100) == "short"
    assert fit(words, 100).endswith("…")
    assert width_of(fit(words, 100)) <= 100


def test_both_themes_have_the_same_colours_and_every_look_uses_only_those():
    assert palette.LIGHT.keys() == palette.DARK.keys()
    css = palette.for_pages() + palette.alone()
    of_stage = {"wide", "high", "at"}  # lengths, which stage.js sets
    used = set(re.findall(r"var\(--([a-z]+)\)", css))
    assert used - of_stage <= palette.LIGHT.keys()


@pytest.mark.parametrize("theme", [palette.LIGHT, palette.DARK], ids=["light", "dark"])
@pytest.mark.parametrize("paper", ["paper", "panel"])
@pytest.mark.parametrize("ink", ["ink", "soft"])
def test_text_can_be_read(theme, paper, ink):
    bright, dark = sorted((luminance(theme[paper]), luminance(theme[ink])), reverse=True)
    assert (bright + 0.05) / (dark + 0.05) >= 4.5  # WCAG 2, level AA


def luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
