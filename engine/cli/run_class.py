"""Run a tool by the name of its Java class, as kafka-run-class.sh does.

bin/kafka-run-class.sh kafka.tools.DumpLogSegments --files 00000000000000000000.index
"""

import argparse
from argparse import ArgumentParser, Namespace

from engine.cli.main import UsageError, main
from engine.cli.server_start import add_home

CLASSES = {
    "kafka.Kafka": "server-start --home",
    "kafka.admin.AclCommand": "acls",
    "kafka.admin.ConfigCommand": "configs",
    "kafka.admin.ConsumerGroupCommand": "consumer-groups",
    "kafka.admin.LeaderElectionCommand": "leader-election",
    "kafka.admin.ReassignPartitionsCommand": "reassign-partitions",
    "kafka.admin.TopicCommand": "topics",
    "kafka.tools.ConsoleConsumer": "console-consumer",
    "kafka.tools.ConsoleProducer": "console-producer",
    "kafka.tools.ConsumerPerformance": "perf consumer",
    "kafka.tools.DumpLogSegments": "dump-log",
    "kafka.tools.StorageTool": "storage",
    "org.apache.kafka.tools.ProducerPerformance": "perf producer",
    "org.apache.zookeeper.server.quorum.QuorumPeerMain": "zookeeper-server-start --home",
}
GONE = {
    "kafka.tools.ConsumerOffsetChecker": "since Kafka 1.0: use consumer-groups --describe",
    "kafka.admin.PreferredReplicaLeaderElectionCommand": "here: use leader-election",
    "kafka.tools.SimpleConsumerShell": "since Kafka 2.0: use console-consumer --partition N",
    "kafka.tools.GetOffsetShell": "here: consumer-groups --describe has the ends of logs",
}


def add_arguments(parser: ArgumentParser) -> None:
    add_home(parser)
    parser.add_argument("name", metavar="CLASS", help=f"one of {', '.join(CLASSES)}")
    parser.add_argument("rest", nargs=argparse.REMAINDER, metavar="...", help="its options")


def run(options: Namespace) -> int:
    name = options.name
    if name in GONE:
        raise UsageError(f"there is no {name} {GONE[name]}")
    if name not in CLASSES:
        raise UsageError(f"there is no class {name} here, only {', '.join(CLASSES)}")
    words = CLASSES[name].split()
    home = [str(options.home)] if words[-1] == "--home" else []
    return main([*words, *home, *options.rest])
