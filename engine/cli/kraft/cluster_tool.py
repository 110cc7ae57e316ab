"""The id of a cluster, and brokers that will not come back, as kafka-cluster does.

    cluster-tool cluster-id --bootstrap-server 127.0.0.1:9092
    cluster-tool unregister --bootstrap-server 127.0.0.1:9092 --id 3

A broker that is stopped stays registered, as fenced, and controllers count it. Unregister it when
it is gone for good. Without ZooKeeper only.
"""

from argparse import ArgumentParser, Namespace
from types import SimpleNamespace

from engine.cli.kraft.nodes import add_bootstrap, ask, bootstrap
from engine.cli.options import add_options, bounded
from engine.errors import ApiException, ErrorCode
from engine.quorum_server.describe_quorum import CONTROLLERS
from engine.wire.apis import Api
from engine.wire.kraft_apis import KRaftApi

CLIENT = "cluster-tool"


def add_arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="cluster-id|unregister")
    id = actions.add_parser("cluster-id", help="print the id of the cluster", allow_abbrev=False)
    gone = actions.add_parser("unregister", help="forget a broker", allow_abbrev=False)
    for each in (id, gone):
        add_bootstrap(each)
    add_options(gone, {"id N": (bounded(0), None, "the broker's id")}, required=True)


def run(options: Namespace) -> int:
    nodes = bootstrap(options)
    if options.action == "cluster-id":
        request = SimpleNamespace(
            include_cluster_authorized_operations=False, endpoint_type=CONTROLLERS
        )
        print(f"Cluster ID: {ask(nodes, Api.DESCRIBE_CLUSTER, request, CLIENT).cluster_id}")
        return 0
    request = SimpleNamespace(broker_id=options.id)
    answer = ask(nodes, KRaftApi.UNREGISTER_BROKER, request, CLIENT)
    if answer.error_code is not ErrorCode.none:
        raise ApiException(answer.error_code, answer.error_message or answer.error_code.name)
    print(f"Broker {options.id} is no longer registered.")
    return 0
