"""A scene's rows to an SVG document that stands alone, light or dark as its reader's system is.

It draws the same shapes as static/stage.js, without motion, for pages without scripts such as
GitHub's.

    document    a file: its looks are a style sheet
    still       an output of a saved notebook: its looks are attributes of the shapes

GitHub puts the SVG of a notebook into its own page and removes style sheets: without its looks each
shape would be a black one. So a still has attributes with the light colours, and its style sheet
only replaces them by the dark ones.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeAlias
from xml.sax.saxutils import escape, quoteattr

from widgets import palette

ANCHORS = {-1: "start", 0: "middle", 1: "end"}
GROWS = 640  # px: a narrower still is shown as it is

Facts: TypeAlias = dict[str, Any]
Dress: TypeAlias = Callable[[str, str], Facts]  # a tag and its look -> attributes


def document(told: dict[str, Any], links: Mapping[str, str] | None = None) -> str:
    """`links`: where a shape of the picture leads, by its key."""
    shapes = "".join(_linked(row, links or {}) for row in told["shapes"])
    width, height = told["size"]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" class="lab-scene" role="img">'
        f"<title>{escape(told['title'])}</title><style>{escape(palette.alone())}</style>"
        f'<rect width="{width}" height="{height}" fill="var(--paper)"/>' + shapes + "</svg>"
    )


def _linked(row: list[Any], links: Mapping[str, str]) -> str:
    element = _element(row, _classes)
    href = links.get(row[1])
    return _tag("a", {"href": href, "target": "_top"}, element) if href else element


def still(told: dict[str, Any]) -> str:
    width, height = told["size"]
    card = _tag("rect", _box(0.5, 0.5, width - 1, height - 1, 10) | _attributes("rect", "paper"))
    shapes = card + _elements(told["shapes"], _attributes)
    facts = {
        "xmlns": "http://www.w3.org/2000/svg",
        "viewBox": f"0 0 {width} {height}",
        # As wide as its page allows: JupyterLab would cut off what is wider. But what was laid
        # out for a phone or a dock would have giant letters then.
        "width": "100%" if width >= GROWS else width,
        "class": "lab-still",
        "role": "img",
    }
    dark = "".join(
        f'.lab-still [{name}="{light}"]{{{name}:{palette.DARK[colour]}}}'
        for colour, light in palette.LIGHT.items()
        for name in ("fill", "stroke")
        if f'{name}="{light}"' in shapes
    )
    theme = f"<style>@media (prefers-color-scheme:dark){{{dark}}}</style>"
    inside = f"<title>{escape(told['title'])}</title>{theme}{shapes}"
    return _tag("svg", facts | _attributes("svg", ""), inside)


def _classes(tag: str, look: str) -> Facts:
    return {"class": look} if look else {}


@cache
def _attributes(tag: str, look: str) -> Facts:
    return palette.attributes(tag, look)


def _box(x: float, y: float, width: float, height: float, r: float) -> Facts:
    return {"x": x, "y": y, "width": width, "height": height, "rx": r}


def _element(row: list[Any], dress: Dress) -> str:
    kind, key, where, look, content, label = (row + [""] * 6)[:6]
    inside = f"<title>{escape(label)}</title>" if label else ""
    tag, facts = "path", Facts()
    if kind == "rect":
        tag = "rect"
        facts |= dict(zip(("x", "y", "width", "height", "rx"), where, strict=False))
    elif kind == "circle":
        tag = "circle"
        facts |= dict(zip(("cx", "cy", "r"), where, strict=True))
    elif kind == "line":
        facts["d"] = "M{} {}L{} {}".format(*where)
    elif kind == "path":
        facts["d"] = content
        if where:
            facts["transform"] = "translate({} {})".format(*where)
    elif kind == "text":
        tag, inside = "text", escape(content) + inside
        facts |= {"x": where[0], "y": where[1]}
        if len(where) > 2:
            facts["text-anchor"] = ANCHORS[where[2]]
    elif kind == "chip":
        x, y, *size = where
        tag, inside = "g", inside + _elements(_chip(size, look, content), dress)
        facts = {"transform": f"translate({x} {y})"}
    elif kind == "group":
        tag, inside = "g", inside + _elements(content or [], dress)
        facts["transform"] = "translate({} {})".format(*where)
    else:
        assert kind == "travel", f"{key} is of no kind that can be drawn: {kind}"
        tag = "circle"
        facts |= {"r": 3.5, "style": f"offset-path:path('{content}');offset-distance:50%"}
    # A chip gives its look to the shapes in it.
    return _tag(tag, facts if kind == "chip" else dress(tag, look) | facts, inside)


def _elements(rows: list[list[Any]], dress: Dress) -> str:
    return "".join(_element(row, dress) for row in rows)


def _tag(tag: str, facts: Facts, inside: str = "") -> str:
    told = "".join(f" {name}={quoteattr(str(it))}" for name, it in facts.items())
    return f"<{tag}{told}>{inside}</{tag}>" if inside else f"<{tag}{told}/>"


def _chip(size: list[float], look: str, word: str) -> list[list[Any]]:
    """A box with a short word in it, and perhaps a bar beside it."""
    wide, high, full, pale = [*size, 0, 0][:4]
    bars = [("full", wide + 2, full, ""), ("pale", wide + 2 + full, pale, " written")]
    return [
        ["rect", "box", [0, 0, wide, high, 4], look],
        ["text", "word", [wide / 2, high / 2 + 3.7, 0], f"letter {look}", word],
        *(
            ["path", key, [], f"bit {look}{more}", f"M{x} {high / 2}h{long}"]
            for key, x, long, more in bars
            if long
        ),
    ]
