"""docs/glossary.md, docs/map.md and its picture, made from widgets/ideas/ideas.json and the labs.

Who changes an idea, or a heading of a lab, makes them anew (`make docs`); a test holds that they
are up to date.
"""

from collections.abc import Mapping
from pathlib import Path

from widgets.ideas.drawing import idea_map
from widgets.ideas.idea import Idea, LabPlace
from widgets.ledger.coverage import anchor

MADE = "\n*Made by `make docs` from `widgets/ideas/ideas.json`.*\n"
GLOSSARY = """# Glossary

One sentence for each term, and where a lab shows it. [A map](map.md) shows how the ideas lead to
each other.
"""
MAP = """# A map of ideas

What leads to what, for the ideas that carry Kafka. Below is a sentence for each, and where a lab
shows it. [The glossary](glossary.md) has more terms.

![A map of Kafka's ideas in three columns, with an epoch in the centre](map.svg)

## One idea: an epoch

A controller, a producer or a consumer is paused, cut off or slow. Meanwhile another one takes its
place, and it does not know. It is a **zombie**: it goes on as before. Kafka has one answer to all
three. Each new holder of a role gets a higher number, an **epoch**; and whoever gets a request with
a lower number than it knows refuses it.

{zombies}

## Each idea
"""


def pages(ideas: Mapping[str, Idea], places: Mapping[str, LabPlace]) -> dict[str, str]:
    """By the file's name in docs/."""
    return {
        "glossary.md": glossary(ideas, places),
        "map.md": map_page(ideas, places),
        "map.svg": idea_map(ideas).svg(),
    }


def glossary(ideas: Mapping[str, Idea], places: Mapping[str, LabPlace]) -> str:
    parts = [GLOSSARY]
    for name in sorted(ideas):
        idea = ideas[name]
        named = f"Or {idea.abbreviation}. " if idea.abbreviation else ""
        shown = [f"Shown in {link(places[idea.cell])}."]
        shown += [f"{what.capitalize()}: {link(places[cell])}." for what, cell in idea.also.items()]
        parts.append(f"## {name}\n\n{named}{plain(idea.words)} {' '.join(shown)}\n")
    return "\n".join(parts) + MADE


def map_page(ideas: Mapping[str, Idea], places: Mapping[str, LabPlace]) -> str:
    zombies = ideas["zombie"].also.items()
    parts = [MAP.format(zombies="\n".join(f"- {it}: {link(places[cell])}" for it, cell in zombies))]
    for idea in ideas.values():
        if idea.map:
            term = f"[**{idea.name}**](glossary.md#{idea.anchor})"
            parts.append(f"- {term}: {plain(idea.words)} {link(places[idea.cell])}.")
    return "\n".join(parts) + "\n" + MADE


def plain(words: str) -> str:
    """In Markdown, where an underscore means something else."""
    return words.replace("_", "\\_")


def link(place: LabPlace) -> str:
    """To the section of a lab."""
    target = f"<../labs/{place.lab}.ipynb#{anchor(place.section)}>"
    return f"[{place.lab}, {place.section}]({target})"


def write(folder: Path, ideas: Mapping[str, Idea], places: Mapping[str, LabPlace]) -> None:
    for name, content in pages(ideas, places).items():
        (folder / name).write_text(content, encoding="utf-8")
