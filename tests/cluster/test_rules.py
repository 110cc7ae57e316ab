"""A learner's rule in real broker processes: it decides there, and its failure is told."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from engine.cli import main
from engine.cluster.cluster import Cluster
from engine.errors import ApiException

SECONDS = "4"


class NothingIsCommitted:
    def high_watermark(self, end: int, ends: Any, isr: Any, joining: Any, old: int) -> int:
        return old


class FailsAtTheThirdRecord:
    def high_watermark(self, end: int, ends: Any, isr: Any, joining: Any, old: int) -> int:
        return end if end < 3 else 1 // (end - end)


@contextmanager
def running(rules: Mapping[str, type | Path]) -> Iterator[Cluster]:
    with Cluster(rules=rules) as cluster:
        yield cluster


def test_a_class_decides_in_the_broker() -> None:
    """A record is in the log, and no consumer sees it: nothing is ever committed."""
    with running({"high-watermark": NothingIsCommitted}) as cluster:
        cluster.topic("orders", replicas=1)
        cluster.write("orders", ["tea"], acks=1)
        assert b"tea" in (cluster.directory(1) / "orders-0" / f"{0:020}.log").read_bytes()
        assert cluster.read("orders") == []


def test_a_rule_that_fails_ends_its_broker_with_a_sentence() -> None:
    with running({"high-watermark": FailsAtTheThirdRecord}) as cluster:
        cluster.topic("orders", replicas=1)
        cluster.write("orders", ["a", "b"], acks=1)
        quickly = {"delivery_timeout_ms": 1500, "request_timeout_ms": 1000}
        assert cluster.write("orders", ["c"], acks=1, **quickly) == []
        ((broker, reason),) = cluster.wait("its end", cluster.deaths)
        assert broker == 1
        line = (
            r"the rule high-watermark has failed: high_watermark, line \d+: ZeroDivisionError: .*"
        )
        assert re.fullmatch(line, reason), reason


def test_a_cluster_with_a_rule_that_cannot_be_loaded_says_why(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("class Mine:\n    pass\n")
    with pytest.raises(ApiException, match="has no class with cut; it needs one"):
        Cluster(rules={"truncate": file}).start()


@pytest.mark.long
@pytest.mark.timeout(240)
def test_chaos_tells_a_rule_that_holds_from_one_that_loses_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.py"
    rule = (
        "class Mine:\n    def high_watermark(self, end, ends, isr, joining, old):\n        return "
    )
    arguments = ["challenge", "high-watermark", str(file), "--chaos", "--seconds"]
    file.write_text(f"{rule}max(old, min([end, *(ends[it] for it in isr | joining)]))\n")
    assert main.main([*arguments, SECONDS]) == 0
    assert "It holds in real brokers, too." in capsys.readouterr().out
    file.write_text(f"{rule}end\n")
    assert main.main([*arguments, "20"]) == main.FAILED
    assert re.search("lost|had to end|differ", capsys.readouterr().out)
