"""Mutants of the appendix, articles.ipynb, but for its table of brokers."""

from importlib import import_module as lab

import pytest

from tests.labs.mutants import Mutant

START = "books-predict books-start books-start-verdict books-dirs-verdict"
TOPICS = "books-predict books-start books-topics books-topics-verdict"
LETTERS = "books-predict books-start books-topics books-messages books-messages-verdict"
SERVERS = "books-predict books-start books-servers books-servers-verdict"
RELEASE = "cluster release-predict release-dates release-clients release-clients-two "
RELEASE += "release-clients-run release-verdict"


def a_year_later(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(lab("articles.releases").DATES, (1, 0), "2018-11-01")


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
                "{BROKER} {TOPIC} --from-beginning {there}",
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
        "by other documents 1.0 came a year later",
        "C282",
        RELEASE,
        defect=a_year_later,
    ),
    Mutant(
        "all records have one size, and none comes alone",
        "C228 C229",
        "cluster figures-predict figures-produce figures-verdict",
        [('b"x" * size', 'b"x" * 200'), ("number // 100, alone=True", "number, alone=False")],
    ),
    Mutant(
        "a version that no broker of 2.8 knows",
        "C182",
        "cluster versions versions-verdict",
        [("FETCH: 11", "FETCH: 13")],
    ),
    Mutant(
        "both count the latch down",
        "C208",
        "buffer-latch-sample buffer-latch buffer-latch-verdict",
        [("if with_callback:", "if True:")],
    ),
    Mutant(
        "a broker of another cluster",
        "C287",
        "machines machines-verdict",
        [
            (
                "mark = {",
                'file = cluster.directory(2) / "meta.properties"\n'
                "its_own = file.read_text()\n"
                'file.write_text(its_own.replace(cluster_id, "another"))\n'
                "mark = {",
            ),
            ("Table(", "file.write_text(its_own)\nTable("),
        ],
    ),
]
