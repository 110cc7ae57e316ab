"""Kafka's ideas: what is written down of each, and the map of them."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from widgets import palette
from widgets.ideas.drawing import CARD, idea_map
from widgets.ideas.idea import Idea, LabPlace, MapPlace, ideas, lab_places
from widgets.ideas.pages import pages
from widgets.text_width import width_of

DOCS = Path(__file__).resolve().parents[3] / "docs"
ON_MAP = [idea for idea in ideas().values() if idea.map]


@pytest.mark.parametrize("idea", ideas().values(), ids=lambda it: it.name)
def test_an_idea_is_one_sentence_and_a_lab_shows_it(idea: Idea) -> None:
    assert re.fullmatch(r'[A-Z][^"]*\.', idea.words)
    assert ". " not in idea.words
    assert {idea.cell, *idea.also.values()} <= lab_places().keys(), "in one lab, and in no other"


def test_the_ideas_that_a_reader_looks_for_are_on_the_map() -> None:
    wanted = {"acks", "in-sync replica", "high watermark", "epoch", "session", "fencing", "offset"}
    wanted |= {"idempotence", "generation", "transaction", "zombie"}
    assert wanted <= {idea.name for idea in ON_MAP}


def test_the_three_zombies_are_one_idea_that_an_epoch_leads_to() -> None:
    told = ideas()
    assert len(told["zombie"].also) == 3
    assert told["epoch"].map and "zombie" in told["epoch"].map.leads


def test_no_two_cards_are_in_one_place_and_no_name_leaves_its_card() -> None:
    assert len({idea.map.place for idea in ON_MAP if idea.map}) == len(ON_MAP)
    drawn = idea_map(ideas())
    for idea in ON_MAP:
        names = [it for it in drawn[idea.name].content if it.key.startswith("name ")]
        assert all(width_of(it.content, 14) < CARD for it in names)
        assert " ".join(it.content for it in names) == idea.name


def test_an_answered_idea_has_a_mark_and_says_so() -> None:
    drawn = idea_map(ideas(), {"acks"})
    marked = [idea.name for idea in ON_MAP if "Answered." in drawn[idea.name].label]
    assert marked == ["acks"]
    assert drawn.svg().count(">✓</text>") == 1


def test_an_idea_that_does_not_lead_to_its_neighbour_is_refused() -> None:
    far = {
        name: Idea(name, "It is.", "cell", "", {}, MapPlace("it", place, ("b",)))
        for name, place in (("a", (0, 0)), ("b", (2, 0)))
    }
    with pytest.raises(AssertionError, match="a does not lead to its neighbour b"):
        idea_map(far)


def test_with_links_a_card_leads_to_its_lab() -> None:
    root = ElementTree.fromstring(idea_map(ideas()).svg({"acks": "../labs/x.html#acks"}))
    (link,) = root.iter("{http://www.w3.org/2000/svg}a")
    assert link.attrib == {"href": "../labs/x.html#acks", "target": "_top"}
    assert "acks" in "".join(link.itertext())


def test_a_cell_of_two_labs_is_in_no_place(tmp_path: Path) -> None:
    text = '{"cells": [{"cell_type": "markdown", "id": "%s", "source": ["## %s"]}, '
    text += '{"cell_type": "code", "id": "twice", "source": []}]}'
    for name in ("a", "b"):
        (tmp_path / f"{name}.ipynb").write_text(text % (name, name.upper()))
    assert lab_places(tmp_path) == {"a": LabPlace("a", "A"), "b": LabPlace("b", "B")}


def test_the_pages_are_what_the_ideas_and_labs_say_now() -> None:
    made = pages(ideas(), lab_places())
    old = [name for name, text in made.items() if (DOCS / name).read_text("utf-8") != text]
    assert old == [], "run: make docs"


def test_what_lights_up_in_a_picture_is_in_the_glossary() -> None:
    terms = re.search(r"TERMS = \{(.*?)\};", palette.read("terms.js"), re.S)
    assert terms
    names = re.findall(r'^"?([\w-]+)"?:', terms[1], re.M)
    assert len(names) > 5
    assert set(names) <= {idea.anchor for idea in ideas().values()}
