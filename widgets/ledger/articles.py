"""docs/articles/: a page for each article, and docs/coverage.md, their index.

    .venv/bin/python -m widgets.ledger.articles

    labs/claims.json ───────────> the statement, its verdict, why, what it rests on, what changed
    labs/*.ipynb ── coverage ───> the cell that decides it, and the cases in that cell
    docs/articles/order.json ───> the parts of each article, and the claims in the article's order

A page is for somebody who has the article beside it: the claims stand in the article's order, in
our words. What is stated again later is not told again; a link leads to where it was.
Who changes a claim or a lab makes the pages anew; a test holds that they are up to date.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from widgets.ledger import basis, chips, coverage
from widgets.ledger.cases import CellCases, cases_of
from widgets.ledger.claims import PLACES, VERDICTS, ArticleClaim, Place, VerdictToday, load
from widgets.ledger.coverage import Decided

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "articles"
TO_COME = "No cell decides it yet"
FOLD = "<details><summary>What is looked at, and what would have spoken against it</summary>"
MUTANT = "The tests change the experiment, and then the verdict is another one:"
OTHERWISE = {  # kind: what the cases are, if the verdict does not hang on them
    "definition": "It is so by the words, or by how the cell is built. The cell looks at this:",
    "told": "Nothing that runs decides it. Beside it, the cell looks at this:",
}

INTRO = """# {title}

What this article says, in its order and in our words. The coloured word is our verdict, for Apache
Kafka 2.8 with ZooKeeper; below are the reason, what changed after 2.8
([more on that](../kraft.md)), [what the verdict rests on](../coverage.md#kinds-and-places), and the
cell that decides it. Where a cluster without ZooKeeper gives another answer, a second coloured word
says so. The fold says what that cell looks at, and what would have spoken against it.

{counts}
"""
INDEX = """# What the labs say about the articles

Five articles are the syllabus. Each has a page, in its own order: what it says, in our words, the
verdict, the reason, what that rests on, and the cell that decides it. Put the article on one half
of the screen and its page on the other.
"""
MADE = """
*Made by `python -m widgets.ledger.articles` from `labs/claims.json` and the saved notebooks.*
"""
WORTH = """
## Kinds and places

A verdict is worth as much as the experiment behind it, so each says what it rests on.

- **Shown**, {shown} claims. The experiment could have come out otherwise. The tests change the
  experiment, or the engine under it, and then it does.
- **By definition**, {definition}. The words mean it, or the experiment was built so. It shows what
  is meant, and proves nothing.
- **Told, not tested**, {told}. An opinion, a forecast, history, or something that no lab runs.
  Documents tell it.

{engine} of the {shown} were shown by nothing but our own engine. That is proof about Kafka as far
as the engine [behaves as Kafka does](compared.md#beside-kafka-itself). Where the same was seen with
Kafka itself, the page names the test.

| seen | claims |
|---|---:|
{places}
"""


class Article(NamedTuple):
    page: str  # the name of the file, without .md
    title: str
    parts: dict[str, tuple[str, ...]]  # heading: the claims, in the article's order

    @property
    def keys(self) -> set[str]:
        return {key for keys in self.parts.values() for key in keys}


def read(path: Path = PAGES / "order.json") -> list[Article]:
    found = json.loads(path.read_text(encoding="utf-8"))
    return [
        Article(it["page"], it["title"], {k: tuple(v.split()) for k, v in it["parts"].items()})
        for it in found
    ]


def page(article: Article, claims: Mapping[str, ArticleClaim], found: Mapping[str, Decided]) -> str:
    lines = [INTRO.format(title=article.title, counts=_counts(article, claims))]
    told: set[str] = set()
    for heading, keys in article.parts.items():
        lines += [f"## {heading}", ""]
        for key in keys:
            if key in told:
                lines += _again(claims[key])
            else:
                lines += _entry(claims[key], found.get(key))
            told.add(key)
    return "\n".join(lines)


def _counts(article: Article, claims: Mapping[str, ArticleClaim]) -> str:
    kinds = [claims[key].kind for key in article.keys]
    words = ", ".join(f"{kinds.count(kind)} {name}" for kind, name in basis.KINDS.items())
    return f"{len(kinds)} claims: {words}."


def _again(claim: ArticleClaim) -> Iterator[str]:
    yield f'{_head(claim)} <a href="#{claim.id.lower()}">See above.</a>'
    yield ""


def _entry(claim: ArticleClaim, where: Decided | None) -> Iterator[str]:
    yield f'<a id="{claim.id.lower()}"></a>{_head(claim)}'
    yield ""
    yield _plain(claim.why)
    yield ""
    if changed := claim.later or claim.since:
        yield f"**After 2.8:** {_plain(changed)}"
        yield ""
    if claim.today:
        chip = chips.image(claim.today.verdict)
        yield f"{chip} **today, without ZooKeeper.** {_today(claim.today)}"
        yield ""
    kind = basis.KINDS[claim.kind]
    rests = " · ".join([f"**{kind[0].upper()}{kind[1:]}**", *map(_place, claim.seen)])
    yield f"<small>{rests}<br>"
    yield f"{_link(claim, where)}, claim {claim.id}</small>"
    yield ""
    yield from _fold(claim, cases_of(where.source)[claim.id] if where else None)


def _today(found: VerdictToday) -> str:
    file, _, name = found.shown.partition("::" if found.is_test else " ")
    if found.is_test:
        return f"{_plain(found.words)} Shown by [{file}](../../{file}), test `{name}`."
    section = coverage.section_of(ROOT / "labs" / f"{file}.ipynb", name)
    target = f"../../labs/{file}.ipynb#{coverage.anchor(section)}"
    return f"{_plain(found.words)} Shown in [{file}, {section}](<{target}>), cell `{name}`."


def _head(claim: ArticleClaim) -> str:
    return f"{chips.image(claim.verdict)} **{_plain(claim.claim)}**"


def _place(place: Place) -> str:
    if not place.test:
        return place.words
    name = place.test.partition("::")[2]
    return f"{place.words} ([{place.file}](../../tests/real/{place.file}), `{name}`)"


def _link(claim: ArticleClaim, where: Decided | None) -> str:
    if not where:
        return TO_COME
    target = f"../../labs/{where.lab}#{coverage.anchor(where.section)}"
    words = "Looked at" if claim.kind == "told" else "Decided"
    lab = where.lab.removesuffix(".ipynb")
    return f"{words} in [{lab}, {where.section}](<{target}>), cell `{where.cell}`"


def _fold(claim: ArticleClaim, decides: CellCases | None) -> Iterator[str]:
    yield FOLD
    yield ""
    if decides:
        yield from _cases(decides, OTHERWISE.get(claim.kind, ""))
    if claim.against:
        yield f"{MUTANT} *{_plain(claim.against)}*."
        yield ""
    yield "</details>"
    yield ""
    yield "<br>"
    yield ""


def _cases(decides: CellCases, all_at_once: str) -> Iterator[str]:
    """By what each would mean; or all of them, where none could have meant anything else."""
    when = f" when {_plain(decides.when)}" if decides.when else ""
    kinds = {
        f"This has to be seen, if it is to hold{when}:": decides.borne_out,
        "This speaks against it, if it is seen:": decides.refuted,
        "This speaks against it without that condition, if it is seen:": decides.otherwise,
        "This speaks for older releases, if it is seen:": decides.older,
    }
    if all_at_once:
        kinds = {all_at_once: [it for each in kinds.values() for it in each]}
    for words, each in kinds.items():
        if each:
            yield words
            yield ""
            yield from (f"- {_plain(it)}" for it in each)
            yield ""


def index(
    articles: Sequence[Article], claims: Mapping[str, ArticleClaim], found: Mapping[str, Decided]
) -> str:
    lines = [INDEX, *_articles(articles, claims), *_kinds(claims), "## By lab and number", ""]
    lines += [*_labs(articles, claims, found), MADE]
    return "\n".join(lines)


def _articles(articles: Sequence[Article], claims: Mapping[str, ArticleClaim]) -> Iterator[str]:
    yield f"| article | claims | {' | '.join(VERDICTS)} |"
    yield f"|---|---:|{'---:|' * len(VERDICTS)}"
    for it in articles:
        yield _row(f"[{it.title}](articles/{it.page}.md)", [claims[key] for key in it.keys])
    yield _row("all, each counted once", [*claims.values()])


def _row(name: str, claims: Sequence[ArticleClaim]) -> str:
    counts = Counter(it.verdict for it in claims)
    return f"| {name} | {len(claims)} | {' | '.join(str(counts[it]) for it in VERDICTS)} |"


def _kinds(claims: Mapping[str, ArticleClaim]) -> Iterator[str]:
    kinds = Counter(it.kind for it in claims.values())
    places = Counter(place.name for it in claims.values() for place in it.seen)
    rows = "\n".join(f"| {words} | {places[name]} |" for name, words in PLACES.items())
    yield WORTH.format(
        engine=places["engine"], places=rows, **{it: kinds[it] for it in basis.KINDS}
    )


def _labs(
    articles: Sequence[Article], claims: Mapping[str, ArticleClaim], found: Mapping[str, Decided]
) -> Iterator[str]:
    """The claims that each lab decides, each with a link to an article that makes it."""
    told: dict[str, str] = {}
    for it in articles:
        for heading, keys in it.parts.items():
            for key in keys:
                told.setdefault(key, f"[{key}](articles/{it.page}.md#{slug(heading)})")
    labs: dict[str, list[str]] = {}
    for key in claims:
        lab = found[key].lab.removesuffix(".ipynb") if key in found else "to come"
        labs.setdefault(lab, []).append(told[key])
    yield "| lab | claims | |"
    yield "|---|---:|---|"
    for lab in sorted(labs):
        name = f"[{lab}](../labs/{lab}.ipynb)" if lab != "to come" else lab
        yield f"| {name} | {len(labs[lab])} | {' '.join(labs[lab])} |"


def slug(heading: str) -> str:
    """As GitHub and MyST name a heading."""
    kept = (it for it in heading.lower() if it.isalnum() or it in "_- ")
    return "".join(kept).replace(" ", "-")


def _plain(text: str) -> str:
    """As it is read, whatever Markdown makes of single characters."""
    for letter in "\\`*_<>[]$~":
        text = text.replace(letter, f"\\{letter}")
    return text


def made(found: Mapping[str, Decided]) -> dict[Path, str]:
    """Every file that this command writes."""
    claims, all_of_them = load(), read()
    pages = {PAGES / f"{it.page}.md": page(it, claims, found) for it in all_of_them}
    first = {ROOT / "docs" / "coverage.md": index(all_of_them, claims, found)}
    return pages | first | chips.files(PAGES / chips.FOLDER)


def main() -> None:
    for path, text in made(coverage.all_decided(ROOT / "labs")).items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
