"""Mutants of 09_operations: its sections about commands, listeners, releases."""

from importlib import import_module as lab

import pytest

from tests.labs.mutants import Mutant

START = "books-predict books-start books-start-verdict books-dirs-verdict"
TOPICS = "books-predict books-start books-topics books-topics-verdict"
LETTERS = "books-predict books-start books-topics books-messages books-messages-verdict"
SERVERS = "books-predict books-start books-servers books-servers-verdict"
CRASH = "cluster ack-predict ack-crash ack-die ack-lanes ack-polls ack-verdict"
COUNT = "cluster ack-predict ack-crash ack-count ack-count-table ack-count-verdict ack-count-ledger"
MANUAL = "cluster ack-predict ack-crash ack-manual ack-manual-run ack-manual-verdict"
TWICE = "cluster ack-predict ack-crash ack-twice ack-twice-run ack-twice-verdict"
RELEASE = "cluster release-predict release-dates release-clients release-clients-two "
RELEASE += "release-clients-run release-verdict"
PARALLEL = "cluster parallel-predict parallel-work"


def a_year_later(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(lab("operations.releases").DATES, (1, 0), "2018-11-01")


MUTANTS = [
    Mutant(
        "the key is spelled right, and the server is started before the topic is created",
        "C267 C270",
        START,
        [
            ('"log.Dirs = logs")', '"log.dirs = logs")'),
            ("misspelt = shell.run(SERVER)", 'misspelt = shell.run("true")'),
            (
                "too_early = shell.run(CREATE)\nserver = shell.start(SERVER)",
                "server = shell.start(SERVER)\ntoo_early = shell.run(CREATE)",
            ),
        ],
    ),
    Mutant(
        "ZooKeeper is started before the server that is to miss it",
        "C264 C267",
        START,
        [
            ('alone = shell.run(f"{SERVER} {soon}")', ""),
            (
                'config/zookeeper.properties")',
                'config/zookeeper.properties")\nalone = shell.start(SERVER)',
            ),
            (
                "too_early = shell.run(CREATE)\nserver = shell.start(SERVER)",
                "server = alone\ntoo_early = misspelt",
            ),
        ],
    ),
    Mutant(
        "the new line makes another number of partitions",
        "C266",
        TOPICS,
        [
            (
                "--replication-factor 1 --partitions 5 --topic {topic}",
                "--replication-factor 1 --partitions 6 --topic {topic}",
            ),
            ('len(shell.folders("logs", topic)) == 5', 'len(shell.folders("logs", topic)) == 6'),
        ],
    ),
    Mutant(
        "nothing is typed in, and everything is asked of a broker",
        "C268 C269",
        LETTERS,
        [
            ('given="a\\nb\\nc\\n"', 'given=""'),
            (
                "--zookeeper localhost:2181 {TOPIC} --from-beginning",
                "{BROKER} {TOPIC} --timeout-ms 1000",
            ),
            (
                " {BROKER} {TOPIC} --timeout-ms 2000",
                " {BROKER} {TOPIC} --from-beginning --timeout-ms 4000",
            ),
            (
                "{BROKER} {TOPIC} --from-beginning --timeout-ms 5000",
                "{BROKER} {TOPIC} --timeout-ms 1000",
            ),
        ],
    ),
    Mutant(
        "each server has a number of its own, and all directories are made by hand",
        "C265 C289",
        SERVERS,
        [
            ("broker_id=0,", "broker_id=5,"),
            (
                'shell.run("bin/kafka-server-stop.sh")',
                'shell.run("bin/kafka-server-stop.sh; mkdir by-hand")',
            ),
            ('shell.path / "new" / "data"', '"by-hand"'),
            ('log_dirs="here"', 'log_dirs=shell.path / "logs-2"'),
        ],
    ),
    Mutant(
        "the list unpacks the archive",
        "C290",
        "books-predict books-start books-download books-download-verdict",
        [
            (
                'cp {archive} . && cd {name} && mkdir logs")',
                'cp {archive} . && tar -xzf {name}.tgz && cd {name} && mkdir logs")',
            )
        ],
    ),
    Mutant(
        "RECORD commits after each poll, and BATCH after each record",
        "C273 C274",
        CRASH,
        [
            (
                "runs = {mode.name: crash(mode) for mode in AckMode}",
                'runs = {it: crash("BATCH") for it in ("RECORD", "BATCH")}',
            ),
            ('container_of("BATCH"', 'container_of("RECORD"'),
        ],
    ),
    Mutant(
        "no time to wait for, and a count that each poll reaches",
        "C275 C276",
        COUNT,
        [
            (
                'listen("TIME", 200, 5, pause=0.005, ack_time=0.3)',
                'listen("TIME", 200, 5, pause=0.005, ack_time=0.0)',
            ),
            ("count = 120", "count = 50"),
        ],
    ),
    Mutant(
        "MANUAL commits at once, and MANUAL_IMMEDIATE later",
        "C277 C278",
        MANUAL,
        [
            ('order("MANUAL", some, 50)', 'order("MANUAL_IMMEDIATE", some, 50)'),
            ('order("MANUAL_IMMEDIATE", each, 10)', 'order("MANUAL", each, 10)'),
        ],
    ),
    Mutant(
        "both listeners acknowledge",
        "C279",
        TWICE,
        [("    # acknowledgment.acknowledge()", "    acknowledgment.acknowledge()")],
    ),
    Mutant(
        "more partitions than consumers",
        "C280",
        f"{PARALLEL} parallel-listen parallel-run parallel-verdict",
        [("shared.cluster(), 4  #", "shared.cluster(), 8  #")],
    ),
    Mutant(
        "nothing is bound to an offset",
        "C281",
        f"{PARALLEL} parallel-bound parallel-bound-run parallel-bound-verdict",
        [("PartitionOffset(two, 1, 100)]", "PartitionOffset(two, 1)]")],
    ),
    Mutant(
        "two listeners share a group",
        "C288",
        f"{PARALLEL} parallel-listen parallel-run parallel-groups parallel-groups-verdict",
        [
            (
                '[shared.fresh("zhugeGroup"), shared.fresh("tulingGroup"), None]',
                '[*[shared.fresh("zhugeGroup")] * 2, None]',
            ),
            (
                "all(len(it.calls()) == 10 for it in containers)",
                "sum(len(it.calls()) for it in containers) == 20",
            ),
        ],
    ),
    Mutant(
        "the file has another ack mode",
        "C295",
        f"{PARALLEL} parallel-yml parallel-yml-run parallel-yml-verdict",
        [("ack-mode: MANUAL_IMMEDIATE", "ack-mode: MANUAL")],
    ),
    Mutant(
        "by other documents 1.0 came a year later",
        "C282",
        RELEASE,
        defect=a_year_later,
    ),
]
