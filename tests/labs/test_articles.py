"""The pages about the articles are made from labs/claims.json and the saved labs alone."""

import ast
from pathlib import Path

import pytest

from tests.labs.reader import Reader
from widgets.ledger import articles, basis, coverage
from widgets.ledger.claims import OURS, TESTED, load

ROOT = Path(__file__).resolve().parents[2]
CLAIMS = load()
REAL = ROOT / "tests" / "real"
PAGES = articles.read()


def test_the_pages_are_made_from_the_claims_and_the_labs_as_they_are_saved() -> None:
    made = articles.made(coverage.all_decided(ROOT / "labs"))
    stale = [it.name for it, text in made.items() if it.read_text(encoding="utf-8") != text]
    assert not stale, "make them anew: python -m widgets.ledger.articles"
    assert {*(ROOT / "docs" / "articles").glob("*.md")} <= made.keys()


@pytest.mark.parametrize("article", PAGES, ids=lambda it: it.page)
def test_a_page_has_each_claim_of_its_article_and_no_other(article: articles.Article) -> None:
    titles = {key: {title for title, _ in claim.sources} for key, claim in CLAIMS.items()}
    assert article.keys == {key for key, found in titles.items() if article.title in found}


def test_every_article_has_a_page() -> None:
    titles = {title for claim in CLAIMS.values() for title, _ in claim.sources}
    assert {it.title for it in PAGES} == titles


def test_a_page_says_of_each_claim_what_would_have_spoken_against_it() -> None:
    """In the cell that decides it there are cases, and they can be read from its source."""
    for article in PAGES:
        page = articles.page(article, CLAIMS, coverage.all_decided(ROOT / "labs"))
        assert page.count(articles.FOLD) == len(article.keys)
        for fold in page.split(articles.FOLD)[1:]:
            assert "\n- " in fold.partition("</details>")[0]
        assert articles.TO_COME not in page


def test_an_opinion_is_told_and_a_place_of_what_is_told_is_a_document() -> None:
    for key, claim in CLAIMS.items():
        places = {it.name for it in claim.seen}
        assert claim.verdict != "opinion" or claim.kind == "told", key
        assert (claim.kind == "told") == ("documents" in places), key
        assert not (claim.later and claim.since), key


def test_what_only_our_engine_has_shown_says_so() -> None:
    for key, claim in CLAIMS.items():
        places = {it.name for it in claim.seen} - {"engine"}
        ours = claim.kind == "shown" and places <= OURS
        assert ours == ("engine" in {it.name for it in claim.seen}), key


def test_also_seen_with_kafka_names_a_test_that_is_there() -> None:
    """Of tests/real: a function of this name, in a module that starts the program it speaks of."""
    words = {"kafka": "tests.real.kafka", "streams": "WordCount", "spring": "SpringListeners.java"}
    for key, claim in CLAIMS.items():
        for place in claim.seen:
            assert bool(place.test) == (place.name in TESTED), key
            if place.test:
                file, _, name = place.test.partition("::")
                text = (REAL / file).read_text(encoding="utf-8")
                defined = {
                    it.name for it in ast.parse(text).body if isinstance(it, ast.FunctionDef)
                }
                assert name in defined, f"{key}: there is no {place.test}"
                assert words[place.name] in text, f"{key}: {file} does not run {place.name}"


def test_the_labs_with_claims_decide_all_that_can_be_decided_today() -> None:
    found = coverage.all_decided(ROOT / "labs")
    assert found.keys() == CLAIMS.keys()


def test_a_second_verdict_is_another_one_and_names_what_shows_it_without_zookeeper() -> None:
    """A cell of lab 10, or a test that starts a cluster of controllers."""
    cells = {cell.id for cell in Reader(ROOT / "labs" / "10_kraft.ipynb").cells}
    second = {key: claim.today for key, claim in CLAIMS.items() if claim.today}
    assert second.keys() >= {"C073", "C074", "C080", "C093", "C094", "C095"}
    for key, today in second.items():
        assert today.verdict != CLAIMS[key].verdict, key
        if today.is_test:
            file, _, name = today.shown.partition("::")
            text = (ROOT / file).read_text(encoding="utf-8")
            assert f"def {name}(" in text and "kraft" in text, f"{key}: there is no {today.shown}"
        else:
            lab, _, cell = today.shown.partition(" ")
            assert lab == "10_kraft" and cell in cells, f"{key}: there is no {today.shown}"


def test_a_second_verdict_is_on_the_card_and_on_the_page() -> None:
    claim = CLAIMS["C073"]
    assert claim.today is not None
    page = "\n".join(articles.made(coverage.all_decided(ROOT / "labs")).values())
    assert "today, without ZooKeeper.** No broker tries anything" in page
    card = basis.html(claim)
    assert ">wrong</span>. No broker tries anything" in card
    assert "decided with ZooKeeper" in card
