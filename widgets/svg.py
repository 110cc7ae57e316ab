"""A scene's rows to an SVG document that stands alone, light or dark as its reader's system is.

It draws what static/stage.js draws, shape by shape, without motion: on a page without scripts, as
on GitHub, a picture is worth as much as it says standing still.
"""

from typing import Any
from xml.sax.saxutils import escape, quoteattr

from widgets import palette

ANCHORS = {-1: "start", 0: "middle", 1: "end"}


def document(told: dict[str, Any]) -> str:
    width, height = told["size"]
    title = escape(told["title"])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" class="lab-scene" role="img">'
        f"<title>{title}</title><style>{escape(palette.alone())}</style>"
        f'<rect width="{width}" height="{height}" fill="var(--paper)"/>'
        + "".join(map(_element, told["shapes"]))
        + "</svg>"
    )


def _element(row: list[Any]) -> str:
    kind, key, where, look, content, label = (row + [""] * 6)[:6]
    inside = f"<title>{escape(label)}</title>" if label else ""
    tag, facts = "path", {"class": look} if look else {}
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
        tag, inside = "g", inside + "".join(map(_element, _chip(size, look, content)))
        facts = {"transform": f"translate({x} {y})"}
    elif kind == "group":
        tag, inside = "g", inside + "".join(map(_element, content or []))
        facts["transform"] = "translate({} {})".format(*where)
    else:
        assert kind == "travel", f"{key} is of no kind that can be drawn: {kind}"
        tag = "circle"
        facts |= {"r": 3.5, "style": f"offset-path:path('{content}');offset-distance:50%"}
    told = "".join(f" {name}={quoteattr(str(it))}" for name, it in facts.items())
    return f"<{tag}{told}>{inside}</{tag}>" if inside else f"<{tag}{told}/>"


def _chip(size: list[float], look: str, word: str) -> list[list[Any]]:
    """A box with a short word in it, and it may be a bar beside it."""
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
