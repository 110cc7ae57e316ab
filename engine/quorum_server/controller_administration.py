"""Administrators' requests at the active controller, by the handlers of brokers.

A request comes from a broker that passes it on in an Envelope, with the client's principal and
address, or from a tool that asks the controller itself. Another node than the active controller
refuses all but DescribeConfigs and DescribeAcls with NOT_CONTROLLER.
"""

from collections.abc import Callable, Mapping
from functools import partial
from random import Random

from engine.broker.call import Handler
from engine.broker.creation import AutoTopicCreationManager
from engine.broker.handlers import acls, client_quotas, elections, scram_credentials
from engine.broker.handlers.configs import ConfigHandlers
from engine.broker.handlers.elections import ElectLeadersHandler
from engine.broker.handlers.topics import TopicHandlers
from engine.config import BrokerConfig
from engine.quorum_server.controller_limits import ControllerLimits
from engine.quorum_server.controller_metadata import ControllerMetadata
from engine.quorum_server.gateway import QuorumGateway
from engine.wire.controller_apis import ControllerApi

OF_ANY_NODE = frozenset({ControllerApi.DESCRIBE_CONFIGS, ControllerApi.DESCRIBE_ACLS})


def administrators_handlers(
    config: BrokerConfig,
    known: ControllerMetadata,
    gateway: QuorumGateway,
    random: Random,
    now: Callable[[], int],
    limits: ControllerLimits,
) -> Mapping[ControllerApi, Handler]:
    metadata, cache = known.metadata, known.configs
    creation = AutoTopicCreationManager(config, cache, metadata, gateway, random)
    topics = TopicHandlers(config, metadata, cache, gateway, creation, now)
    configs = ConfigHandlers(
        *(config.broker_id, metadata, cache, gateway),
        check_listeners=lambda values: None,
        altered=lambda: None,
        is_registered=gateway.is_registered,
    )
    handlers: dict[ControllerApi, Handler] = {
        ControllerApi.CREATE_TOPICS: topics.create,
        ControllerApi.DELETE_TOPICS: topics.delete,
        ControllerApi.CREATE_PARTITIONS: topics.create_partitions,
        ControllerApi.DESCRIBE_ACLS: partial(acls.describe, known.authorizer),
        ControllerApi.CREATE_ACLS: partial(acls.create, known.authorizer, gateway),
        ControllerApi.DELETE_ACLS: partial(acls.delete, known.authorizer, gateway),
        ControllerApi.DESCRIBE_CONFIGS: configs.describe,
        ControllerApi.ALTER_CONFIGS: configs.alter,
        ControllerApi.INCREMENTAL_ALTER_CONFIGS: configs.incremental_alter,
        ControllerApi.ELECT_LEADERS: ElectLeadersHandler(metadata, gateway).handle,
        ControllerApi.ALTER_PARTITION_REASSIGNMENTS: partial(
            elections.alter_reassignments, gateway
        ),
        ControllerApi.LIST_PARTITION_REASSIGNMENTS: partial(elections.list_reassignments, gateway),
        ControllerApi.ALTER_CLIENT_QUOTAS: partial(client_quotas.alter, gateway),
        ControllerApi.ALTER_USER_SCRAM_CREDENTIALS: partial(scram_credentials.alter, gateway),
    }
    return {api: limits.limited(api, handler) for api, handler in handlers.items()}
