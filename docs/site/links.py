"""Checks every link of a built site. Links to other sites are counted, not fetched.

A page may link to any address, but it may load only its own files: no script, style, font or
picture comes from another address. What the browser edition asks for is counted by tests/lite.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LITE = "lite"  # the browser edition: its links are made by scripts
NEEDS = {"src", "srcset", "poster", "data"}
STYLE = re.compile(r"""url\(\s*["']?((?:https?:)?//[^)"']+)|@import\s+["']((?:https?:)?//[^"']+)""")


@dataclass
class Report:
    pages: int = 0
    inside: int = 0  # links that were looked up
    outside: Counter[str] = field(default_factory=Counter)  # addresses elsewhere
    faults: list[str] = field(default_factory=list)


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[tuple[str, bool]] = []  # where to, and whether the page needs it
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        facts = {name: value or "" for name, value in attrs}
        self.anchors |= {facts[name] for name in ("id", "name") if name in facts}
        if "href" in facts and "canonical" not in facts.get("rel", ""):
            self.links.append((facts["href"], tag == "link"))
        self.links += [(facts[name], True) for name in NEEDS & facts.keys() if tag != "a"]
        if tag == "style" or "style" in facts:
            self.links += [(each, True) for each in remote(facts.get("style", ""))]


def remote(style: str) -> list[str]:
    """What a style sheet would fetch from elsewhere."""
    return [one or other for one, other in STYLE.findall(style)]


def check(site: Path) -> Report:
    report = Report()
    read = cache(lambda path: Page(path.read_text(encoding="utf-8")))
    pictures = sorted(site.glob("_static/*.svg"))  # of which one has links
    for path in [*sorted(site.rglob("*.html")), *pictures]:
        if path.is_relative_to(site / LITE):
            continue
        report.pages += path.suffix == ".html"
        name = path.relative_to(site).as_posix()
        for link, needed in read(path).links:
            there = urlsplit(link)
            if there.scheme == "data":
                continue
            if there.scheme or there.netloc:
                report.outside[link] += 1
                if needed:
                    report.faults.append(f"{name} needs {link}, which is not its own")
                continue
            report.inside += 1
            target = (path.parent / unquote(there.path)).resolve() if there.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.is_relative_to(site.resolve()) or not target.is_file():
                report.faults.append(f"{name}: there is no {link}")
            elif (
                there.fragment
                and target.suffix == ".html"
                and unquote(there.fragment) not in read(target).anchors
            ):
                report.faults.append(f"{name}: {link} has no such place in it")
    for path in sorted(site.rglob("*.css")):
        if path.is_relative_to(site / LITE):
            continue
        for link in remote(path.read_text(encoding="utf-8")):
            report.faults.append(f"{path.relative_to(site)} needs {link}, which is not its own")
    return report
