"""The ledger: verdicts are computed from cases, and one that the file doesn't expect is loud."""

import json

import pytest

from engine.errors import ApiException
from widgets.ledger import articles, basis, chips, coverage
from widgets.ledger.cases import CellCases, cases_of
from widgets.ledger.claims import load
from widgets.ledger.ledger import MIME, Contradiction, Ledger

KAFKA = "kafka test_tools.py::test_topics"


def claim(key, verdict, lab="01_storage", needs="core", kind="shown", seen=("cluster", "engine")):
    return {
        "id": key,
        "lab": lab,
        "claim": f"what {key} claims",
        "sources": [["Hello", "Start"]],
        "verdict": verdict,
        "why": "so it is.",
        "kind": kind,
        "seen": seen,
        "experiment": "try it",
        "needs": needs,
    }


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "claims.json"
    rows = [
        claim("C001", "holds", seen=["cluster", KAFKA]) | {"against": "no *topic*"},
        claim("C002", "conditional"),
        claim("C003", "wrong"),
        claim("C004", "outdated"),
        claim("C005", "opinion", kind="told", seen=["documents"]) | {"since": "Kafka 4 is old."},
        claim("C006", "holds", needs="quotas"),
        claim("C007", "holds", lab="02_replication"),
    ]
    path.write_text(json.dumps(rows))
    return path


@pytest.fixture
def ledger(path):
    return Ledger("01_storage", path)


@pytest.mark.parametrize(
    ("key", "cases"),
    [
        ("C001", {"here": True, "there": True}),
        ("C002", {"here": True, "there": False}),
        ("C003", {"here": False, "there": False}),
        ("C004", {"today": False}),
        ("C005", {"seen": True}),
    ],
)
def test_cases_make_the_verdict(ledger, key, cases):
    (found,) = ledger.decide(**{key: cases})
    assert found.verdict == ledger.claims[key].verdict


def test_two_findings_are_shown_by_one_cell(ledger):
    first = ledger.decide(C001={"here": True})
    both = first + ledger.decide("C003", refuted={"it is not so": True})
    assert [each.claim.id for each in both] == ["C001", "C003"]
    assert both._repr_mimebundle_()[MIME] == {"C001": "holds", "C003": "wrong"}
    assert [each.claim.id for each in first] == ["C001"]


@pytest.mark.parametrize(
    ("key", "cases", "found"),
    [
        ("C001", {"here": True, "there": False}, "conditional"),
        ("C001", {"here": False}, "wrong"),
        ("C002", {"here": True}, "holds"),
        ("C002", {"here": False}, "wrong"),
        ("C003", {"here": True}, "holds"),
        ("C003", {"here": True, "there": False}, "conditional"),
        ("C004", {"today": True}, "holds"),
    ],
)
def test_a_verdict_that_is_not_expected_is_a_contradiction(ledger, key, cases, found):
    with pytest.raises(Contradiction, match=f"finds {key} {found}, and .* so it is"):
        ledger.decide(**{key: cases})
    assert f"Contradicted: {key}." in repr(ledger.table())


@pytest.mark.parametrize(
    ("key", "cases", "found"),
    [
        ("C001", {"borne_out": {"here": True}}, "holds"),
        ("C001", {"borne_out": {"here": True, "there": False}}, "conditional"),
        ("C001", {"refuted": {"here": True}}, "wrong"),
        ("C002", {"when": "w", "borne_out": {"a": True}, "otherwise": {"b": True}}, "conditional"),
        ("C002", {"when": "w", "borne_out": {"a": True}, "otherwise": {"b": False}}, "holds"),
        ("C002", {"when": "w", "borne_out": {"a": False}, "otherwise": {"b": True}}, "wrong"),
        ("C003", {"refuted": {"here": True, "there": True}}, "wrong"),
        ("C003", {"refuted": {"here": False}}, "holds"),
        ("C003", {"borne_out": {"here": False}, "refuted": {"there": True}}, "wrong"),
        ("C003", {"borne_out": {"here": True}, "refuted": {"there": True}}, "conditional"),
        ("C004", {"refuted": {"today": True}}, "outdated"),
        ("C004", {"refuted": {"today": False}}, "holds"),
        ("C005", {"borne_out": {"seen": False}}, "opinion"),
    ],
)
def test_a_condition_must_be_met_in_each_case_and_missed_in_one(
    ledger, key, cases, found, monkeypatch
):
    monkeypatch.delenv("BROKERLAB_STRICT")
    (verdict,) = ledger.decide(key, **cases)
    assert verdict.verdict == found
    assert ("With these numbers" in str(verdict)) == (found != ledger.claims[key].verdict)


def test_a_condition_is_shown_and_needs_a_case_without_it(ledger):
    cases = {"borne_out": {"a": True}, "otherwise": {"b": True}}
    assert str(next(iter(ledger.decide("C002", when="acks=all", **cases)))) == (
        "C002 conditional: what C002 claims\nholds when acks=all\n✓ a\notherwise:\n✓ b"
    )
    with pytest.raises(ApiException, match="C002 holds when acks=all: it needs a case where"):
        ledger.decide("C002", when="acks=all", borne_out={"a": True})


def test_what_only_documents_tell_is_marked_so(ledger):
    (told,) = ledger.decide("C004", refuted={"today": True})
    assert "told by the documents" in str(told)
    (seen,) = ledger.decide("C004", refuted={"today": True}, older={"in 0.8": True})
    assert "told by the documents" not in str(seen)
    assert str(seen).endswith("in older releases:\n✓ in 0.8")


def test_a_claim_of_another_lab_or_without_a_case_is_refused(ledger, path):
    for key, cases in (("C007", {"here": True}), ("C001", {})):
        with pytest.raises(ApiException, match=key):
            ledger.decide(**{key: cases})
    with pytest.raises(ApiException, match="the labs are 01_storage, 02_replication"):
        Ledger("01", path)


def test_the_table_tells_what_was_decided_and_what_was_not(ledger):
    ledger.decide(C001={"here": True}, C002={"here": True, "there": False})
    table = ledger.table()
    assert repr(table) == (
        "6 claims of 01_storage: 1 conditional, 1 holds, 4 not run yet.\n"
        "Run the cells of C003, C004, C005, C006 too."
    )
    html = table._repr_mimebundle_()["text/html"]
    assert 'href="#C001"' in html
    assert 'href="#C003"' not in html


def test_what_a_cell_shows_says_each_case_and_can_be_linked_to(ledger):
    shown = ledger.decide(C002={"here": True, "a < b": False})._repr_mimebundle_()
    both = ledger.decide(C002={"a": True, "b": False}) + ledger.decide(C001={"here": True})
    assert both._repr_mimebundle_()[MIME] == {"C002": "conditional", "C001": "holds"}
    assert shown["text/plain"] == "C002 conditional: what C002 claims\n✓ here\n✗ a < b"
    assert 'id="C002"' in shown["text/html"]
    assert "a &lt; b" in shown["text/html"]
    assert shown[MIME] == {"C002": "conditional"}


def test_what_two_calls_have_decided_is_shown_together(ledger):
    both = ledger.decide(C001={"here": True}) + ledger.decide("C003", refuted={"there": True})
    assert [(it.claim.id, it.verdict) for it in both] == [("C001", "holds"), ("C003", "wrong")]
    assert list(both._repr_mimebundle_()[MIME]) == ["C001", "C003"]


@pytest.fixture
def lab(tmp_path):
    """A saved lab with one cell that decides C001 and C003."""
    output = {"output_type": "execute_result", "data": {MIME: {"C001": "holds", "C003": "wrong"}}}
    source = 'ledger.decide(C001={"here": 1}) + ledger.decide("C003", refuted={"a < b": 1})'
    cells = [
        {"cell_type": "markdown", "source": ["# Lab\n", "## The log as files\n"]},
        {"cell_type": "code", "source": [source], "outputs": [output]},
    ]
    for cell, name in zip(cells, ("text", "files-verdict"), strict=True):
        cell["id"] = name
    path = tmp_path / "01_storage.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    return path


def article(**parts):
    return articles.Article("hello", "Hello", {name: tuple(it) for name, it in parts.items()})


def test_where_a_claim_is_decided_is_read_from_saved_outputs_alone(lab):
    found = coverage.decided(lab)
    assert found.keys() == {"C001", "C003"}
    assert found["C003"][:3] == ("01_storage.ipynb", "The log as files", "files-verdict")
    assert found["C003"].verdict == "wrong"


def test_a_page_follows_the_article(path, lab):
    """A claim says its verdict, why, what it rests on and where; a second time, only that."""
    page = articles.page(
        article(Start=["C003", "C001"], End=["C001", "C005"]), load(path), coverage.decided(lab)
    )
    first, again = page.split("## End")
    assert first.index("what C003 claims") < first.index("what C001 claims")
    assert "![wrong](verdicts/wrong.svg) **what C003 claims**" in first
    assert "<small>**Shown** · on this cluster · only our engine<br>" in first
    test = "([test_tools.py](../../tests/real/test_tools.py), `test_topics`)"
    assert f"<small>**Shown** · on this cluster · with Apache Kafka 2.8.2 {test}<br>" in first
    target = "<../../labs/01_storage.ipynb#The-log-as-files>"
    assert f"[01_storage, The log as files]({target}), cell `files-verdict`, claim C003" in first
    assert "if it is seen:\n\n- a \\< b\n" in first
    assert "another one: *no \\*topic\\**." in first
    assert '**what C001 claims** <a href="#c001">See above.</a>' in again
    assert "so it is." not in again.partition("C005")[0]
    assert "<small>**Told, not tested** · by documents<br>\nNo cell decides it yet" in again
    assert "**After 2.8:** Kafka 4 is old." in again
    assert "3 claims: 2 shown, 0 by definition, 1 told, not tested." in first


def test_what_is_no_proof_says_so(path, lab):
    """Cases of a definition speak neither for a claim nor against it."""
    path.write_text(path.read_text().replace('"shown"', '"definition"'))
    page = articles.page(article(Start=["C003"]), load(path), coverage.decided(lab))
    assert "It is so by the words, or by how the cell is built. The cell looks at this:" in page
    assert "if it is seen" not in page


def test_the_index_has_the_articles_the_kinds_and_the_labs(path, lab):
    told = article(Start=["C001", "C002", "C003", "C004"], **{"The end": ["C005", "C006", "C007"]})
    page = articles.index([told], load(path), coverage.decided(lab))
    assert "| [Hello](articles/hello.md) | 7 | 3 | 1 | 1 | 1 | 1 |" in page
    assert "5 of the 6 were shown by nothing but our own engine" in page
    assert "| with Apache Kafka 2.8.2 | 1 |" in page
    names = "[C001](articles/hello.md#start) [C003](articles/hello.md#start)"
    assert f"| [01_storage](../labs/01_storage.ipynb) | 2 | {names} |" in page
    assert "[C007](articles/hello.md#the-end) |" in page


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('ledger.decide(C001={"a": x, "b": y})', {"C001": CellCases(borne_out=["a", "b"])}),
        (
            'ledger.decide("C2", when="w", borne_out={"a": x}, otherwise={"b": y}) + more',
            {"C2": CellCases("w", borne_out=["a"], otherwise=["b"])},
        ),
        (
            'ledger.decide("C2", refuted={"a": x} | {"b": y}, older={"c": z, **more})',
            {"C2": CellCases(refuted=["a", "b"], older=["c"])},
        ),
        (
            'd.decide(C1={f"{it}: {a.b} of 2": x for it in y})',
            {"C1": CellCases(borne_out=["it: … of 2"])},
        ),
        ('ledger.table(); decide(C001={"a": 1})', {}),
    ],
)
def test_the_cases_of_a_cell_are_read_from_its_source(source, found):
    assert cases_of(source) == found


def test_a_card_says_what_the_claim_rests_on_but_not_in_what_is_saved(ledger, monkeypatch):
    def shown():
        both = ledger.decide(C001={"here": True}, C005={"seen": True})
        return both._repr_mimebundle_()["text/html"]

    saved = shown()
    assert "lab-basis" not in saved
    monkeypatch.setenv("BROKERLAB_STILLS", "a folder")  # as a JupyterLab of ours does
    live = shown()
    assert live == basis.with_basis(saved, ledger.claims)
    first, second = live.split('<div id="C005"')
    assert "<b>shown</b> · on this cluster · with Apache Kafka 2.8.2: test_tools.py</div>" in first
    assert 'title="tests/real/test_tools.py::test_topics"' in first
    assert "<b>told, not tested</b> · by documents</div><details" in second


def test_a_card_of_a_claim_that_nobody_knows_stays_as_it_is():
    card = '<div id="C999" style="x">C999<details>why</details></div>'
    assert basis.with_basis(card, {}) == card


@pytest.mark.parametrize("field", [("kind", "guessed"), ("seen", []), ("seen", ["nowhere"])])
def test_a_kind_or_place_that_there_is_not_is_refused(path, field):
    name, value = field
    path.write_text(json.dumps([claim("C001", "holds") | {name: value}]))
    with pytest.raises(AssertionError, match="C001"):
        load(path)


def test_each_verdict_is_a_coloured_word(tmp_path):
    files = chips.files(tmp_path)
    assert {it.stem for it in files} == set(chips.COLORS)
    assert all(f'fill="{chips.COLORS[it.stem]}"' in text for it, text in files.items())
    assert all(f">{it.stem}</text>" in text for it, text in files.items())


def test_the_claims_of_the_project_are_all_there():
    claims = load()
    assert len(claims) == 296
    assert all(claim.sources and claim.why and claim.experiment for claim in claims.values())
