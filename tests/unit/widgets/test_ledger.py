"""The ledger: verdicts are computed from cases, and one that the file doesn't expect is loud."""

import json

import pytest

from engine.errors import KafkaError
from widgets.ledger import coverage
from widgets.ledger.claims import load
from widgets.ledger.ledger import MIME, Contradiction, Ledger


def claim(key, verdict, lab="01_storage", needs="core"):
    return {
        "id": key,
        "lab": lab,
        "claim": f"what {key} claims",
        "sources": [["Hello", "Start"]],
        "verdict": verdict,
        "why": "so it is.",
        "experiment": "try it",
        "needs": needs,
    }


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "claims.json"
    rows = [
        claim("C001", "holds"),
        claim("C002", "conditional"),
        claim("C003", "wrong"),
        claim("C004", "outdated"),
        claim("C005", "opinion"),
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
    with pytest.raises(KafkaError, match="C002 holds when acks=all: it needs a case where"):
        ledger.decide("C002", when="acks=all", borne_out={"a": True})


def test_what_only_documents_tell_is_marked_so(ledger):
    (told,) = ledger.decide("C004", refuted={"today": True})
    assert "told by the documents" in str(told)
    (seen,) = ledger.decide("C004", refuted={"today": True}, older={"in 0.8": True})
    assert "told by the documents" not in str(seen)
    assert str(seen).endswith("in older releases:\n✓ in 0.8")


def test_a_claim_of_another_lab_or_without_a_case_is_refused(ledger, path):
    for key, cases in (("C007", {"here": True}), ("C001", {})):
        with pytest.raises(KafkaError, match=key):
            ledger.decide(**{key: cases})
    with pytest.raises(KafkaError, match="the labs are 01_storage, 02_replication"):
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


def test_coverage_is_made_from_saved_outputs_alone(ledger, path, tmp_path):
    output = {"output_type": "execute_result", "data": {MIME: {"C003": "wrong"}}}
    cells = [
        {"cell_type": "markdown", "source": ["# Lab\n", "## The log as files\n"]},
        {"cell_type": "code", "source": ["ledger.decide(C001=..., C003=...)"], "outputs": [output]},
    ]
    for cell, name in zip(cells, ("text", "files-verdict"), strict=True):
        cell["id"] = name
    lab = tmp_path / "01_storage.ipynb"
    lab.write_text(json.dumps({"cells": cells}))
    found = coverage.decided(lab)
    page = coverage.page(load(path), found)
    link = "[The log as files](../labs/01_storage.ipynb#The-log-as-files), cell `files-verdict`"
    assert f"| C003 | wrong | what C003 claims | {link} |" in page
    assert "| C001 | to come | what C001 claims |  |" in page
    assert "| C006 | to come |" in page
    assert "| 01_storage | 6 | 1 | 5 |" in page


def test_the_claims_of_the_project_are_all_there():
    claims = load()
    assert len(claims) == 296
    assert all(claim.sources and claim.why and claim.experiment for claim in claims.values())
