"""What Kafka answers to requests about ACLs, delegation tokens and features when it has none."""

from functools import partial

import confluent_kafka.admin as admin
import pytest
from confluent_kafka import KafkaError, KafkaException
from kafka import KafkaAdminClient
from kafka.admin import (
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePatternFilter,
    ResourceType,
)
from kafka.errors import SecurityDisabledError

from engine.errors import ErrorCode
from engine.wire.apis import Api
from tests.interop.plain import asked

ANY = 1  # of every filter
RULE = {
    "resource_type": 2,
    "resource_name": "orders",
    "principal": "User:ada",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}
FILTER = {
    "resource_type_filter": ANY,
    "pattern_type_filter": ANY,
    "operation": ANY,
    "permission_type": ANY,
}
TOKENS = [
    (Api.CREATE_DELEGATION_TOKEN, {"max_lifetime": -1}),
    (Api.RENEW_DELEGATION_TOKEN, {"hmac": b"x", "renew_period": 1}),
    (Api.EXPIRE_DELEGATION_TOKEN, {"hmac": b"x", "expiry_time_period": 1}),
    (Api.DESCRIBE_DELEGATION_TOKEN, {"owners": None}),
]


@pytest.fixture
def ask(client):
    return partial(asked, client)


@pytest.mark.parametrize("version", [1, 2])
def test_without_an_authorizer_there_are_no_acls(ask, version):
    described = ask(Api.DESCRIBE_ACLS, version, **FILTER)
    created = ask(Api.CREATE_ACLS, version, creations=[RULE, RULE]).results
    deleted = ask(Api.DELETE_ACLS, version, filters=[FILTER, FILTER]).filter_results
    assert (len(created), len(deleted)) == (2, 2)
    for answer in (described, *created, *deleted):
        assert answer.error_code == ErrorCode.security_disabled
        assert "No Authorizer is configured on the broker" in answer.error_message


def test_stock_clients_hear_that_security_is_disabled(cluster):
    rule = admin.AclBinding(
        *(admin.ResourceType.TOPIC, "orders", admin.ResourcePatternType.LITERAL, "User:ada", "*"),
        *(admin.AclOperation.READ, admin.AclPermissionType.ALLOW),
    )
    client = admin.AdminClient({"bootstrap.servers": cluster.bootstrap})
    (creating,) = client.create_acls([rule]).values()
    with pytest.raises(KafkaException) as refused:
        creating.result(30)
    assert refused.value.args[0].code() == KafkaError.SECURITY_DISABLED
    other = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    everything = ResourcePatternFilter(ResourceType.ANY, None, ACLResourcePatternType.ANY)
    with pytest.raises(SecurityDisabledError):
        other.describe_acls(
            ACLFilter(None, None, ACLOperation.ANY, ACLPermissionType.ANY, everything)
        )
    other.close()


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(("api", "fields"), TOKENS, ids=lambda each: getattr(each, "name", ""))
def test_tokens_need_authentication(ask, api, fields, version):
    answer = ask(api, version, **fields)
    assert answer.error_code == ErrorCode.delegation_token_request_not_allowed


def test_features_have_no_versions_before_protocol_2_7(cluster, ask):
    """Without ZooKeeper they have: one that is not known is refused by its name."""
    update = {"feature": "x", "max_version_level": 1, "allow_downgrade": False}
    answer = ask(Api.UPDATE_FEATURES, feature_updates=[update])
    if cluster.is_kraft:
        (row,) = answer.results
        assert (answer.error_code, row.feature) == (0, "x")
        assert row.error_code == ErrorCode.invalid_update_version
        return
    assert (answer.error_code, answer.results) == (ErrorCode.invalid_request, ())
    assert answer.error_message == "Feature versioning system is disabled."
