"""One consumer in a process of its own, so that it can be killed and frozen.

    python -m widgets.group.member --bootstrap-server HOST:PORT --group G --topics FILE
                                   [--property KEY=VALUE ...]

The file has the topics, one a line. If it changes, the consumer subscribes again. On SIGTERM it
leaves its group. It does nothing with the records, since the view shows only the group.
"""

import signal
import sys
from argparse import ArgumentParser
from contextlib import closing
from pathlib import Path
from typing import Any

from engine import Consumer, KafkaException

POLL = 0.2  # seconds between two checks whether the topics have changed, or it has to end


def main(arguments: list[str]) -> int:
    parser = ArgumentParser(prog="python -m widgets.group.member")
    parser.add_argument("--bootstrap-server", required=True)
    parser.add_argument("--group", required=True)
    parser.add_argument("--topics", required=True, type=Path, metavar="FILE")
    parser.add_argument("--property", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args(arguments)
    told = dict(each.split("=", 1) for each in options.property)
    config = {"bootstrap.servers": options.bootstrap_server, "group.id": options.group} | told
    ended: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: ended.append(number))
    try:
        with closing(Consumer(config)) as consumer:
            return _read(consumer, options.topics, ended)
    except KafkaException as error:
        print(error.args[0].str(), file=sys.stderr)
        return 1


def _read(consumer: Any, topics: Path, ended: list[int]) -> int:
    subscribed: list[str] = []
    while not ended:
        wanted = topics.read_text(encoding="utf-8").split()
        if wanted != subscribed:
            subscribed = wanted
            consumer.subscribe(wanted)
        for message in consumer.consume(500, POLL):
            error = message.error()
            if error and not error.retriable():
                print(error.str(), file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
