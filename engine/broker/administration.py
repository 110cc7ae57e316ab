"""Which function serves each request of an administrator: topics, configurations, ACLs, quotas.

dispatch.py loads this module, and with it the handlers and their messages, when the first such
request comes.
"""

from functools import partial

from engine.broker.broker import Broker
from engine.broker.call import Handler
from engine.broker.handlers import (
    acls,
    client_quotas,
    elections,
    log_dirs,
    producers,
    scram_credentials,
)
from engine.broker.handlers.configs import ConfigHandlers
from engine.broker.handlers.elections import ElectLeadersHandler
from engine.broker.handlers.records import DeleteRecordsHandler
from engine.broker.handlers.topics import TopicHandlers
from engine.wire.apis import Api


def handlers_of_administrators(broker: Broker) -> dict[Api, Handler]:
    replicas, purgatory, gateway = broker.replicas, broker.purgatory, broker.gateway
    topics = TopicHandlers(
        *(broker.config, broker.metadata, broker.configs, gateway, broker.creation, broker.now)
    )
    configs = ConfigHandlers(
        *(broker.id, broker.metadata, broker.configs, gateway, broker.listeners.check),
        partial(replicas.reconfigure, broker.configs.topic_config),
    )
    return {
        Api.CREATE_TOPICS: topics.create,
        Api.DELETE_TOPICS: topics.delete,
        Api.DELETE_RECORDS: DeleteRecordsHandler(broker.metadata, replicas, purgatory).handle,
        Api.DESCRIBE_ACLS: partial(acls.describe, broker.auth.authorizer),
        Api.CREATE_ACLS: partial(acls.create, broker.auth.authorizer, gateway),
        Api.DELETE_ACLS: partial(acls.delete, broker.auth.authorizer, gateway),
        Api.DESCRIBE_CONFIGS: configs.describe,
        Api.ALTER_CONFIGS: configs.alter,
        Api.ALTER_REPLICA_LOG_DIRS: partial(log_dirs.alter, replicas),
        Api.DESCRIBE_LOG_DIRS: partial(log_dirs.handle, replicas),
        Api.CREATE_PARTITIONS: topics.create_partitions,
        Api.DESCRIBE_CLIENT_QUOTAS: partial(client_quotas.describe, gateway),
        Api.ALTER_CLIENT_QUOTAS: partial(client_quotas.alter, gateway),
        Api.DESCRIBE_USER_SCRAM_CREDENTIALS: partial(scram_credentials.describe, gateway),
        Api.ALTER_USER_SCRAM_CREDENTIALS: partial(scram_credentials.alter, gateway),
        Api.ELECT_LEADERS: ElectLeadersHandler(broker.metadata, gateway).handle,
        Api.INCREMENTAL_ALTER_CONFIGS: configs.incremental_alter,
        Api.ALTER_PARTITION_REASSIGNMENTS: partial(elections.alter_reassignments, gateway),
        Api.LIST_PARTITION_REASSIGNMENTS: partial(elections.list_reassignments, gateway),
        Api.DESCRIBE_PRODUCERS: partial(producers.describe, replicas),
    }
