"""Access control lists as values, and as they stand in ZooKeeper."""

import json

import pytest

from engine.security.acls import (
    AccessControlEntry,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AclResourceType,
    PatternType,
    ResourcePattern,
    bits,
)
from engine.zookeeper.acl_znodes import (
    acl_path,
    decode_acl_change,
    decode_acls,
    encode_acl_change,
    encode_acls,
)

ORDERS = ResourcePattern(AclResourceType.TOPIC, "orders")
PREFIXED = ResourcePattern(AclResourceType.TRANSACTIONAL_ID, "or", PatternType.PREFIXED)
READ = AccessControlEntry("User:alice", "*", AclOperation.READ, AclPermissionType.ALLOW)


def test_names_are_those_in_zookeeper():
    assert AclResourceType.TRANSACTIONAL_ID.title == "TransactionalId"
    assert AclResourceType.named("TransactionalId") is AclResourceType.TRANSACTIONAL_ID
    assert AclOperation.named("describeconfigs") is AclOperation.DESCRIBE_CONFIGS
    assert AclOperation.named("fly") is AclOperation.UNKNOWN
    assert AclPermissionType(77) is AclPermissionType.UNKNOWN


def test_a_list_has_kafkas_path_and_content():
    assert acl_path(ORDERS) == "/kafka-acl/Topic/orders"
    assert acl_path(PREFIXED) == "/kafka-acl-extended/prefixed/TransactionalId/or"
    assert json.loads(encode_acls([READ])) == {
        "version": 1,
        "acls": [
            {
                "principal": "User:alice",
                "permissionType": "Allow",
                "operation": "Read",
                "host": "*",
            }
        ],
    }
    assert decode_acls(encode_acls([READ])) == {READ}
    assert decode_acls(b"") == frozenset()


def test_a_note_of_a_change_is_text_for_literal_patterns_and_json_for_others():
    assert encode_acl_change(ORDERS) == b"TOPIC:orders"
    assert json.loads(encode_acl_change(PREFIXED)) == {
        "version": 1,
        "resourceType": "TRANSACTIONAL_ID",
        "name": "or",
        "patternType": "PREFIXED",
    }
    for resource in (ORDERS, PREFIXED):
        assert decode_acl_change(encode_acl_change(resource)) == resource
    assert decode_acl_change(b"Topic:a:b").name == "a:b"


@pytest.mark.parametrize(
    "data",
    [
        b"[]",
        b'{"version":2,"acls":[]}',
        b'{"version":1}',
        b'{"version":1,"acls":[{"principal":"alice","host":"*","operation":"Read",'
        b'"permissionType":"Allow"}]}',
        b'{"version":1,"acls":[{"principal":"User:alice"}]}',
        b"\xff",
    ],
)
def test_a_list_that_cannot_be_read_is_a_value_error(data):
    with pytest.raises(ValueError, match=r"\w"):
        decode_acls(data)


@pytest.mark.parametrize("data", [b"", b"orders", b"FISH:orders", b"TOPIC:", b"TOPIC:a/b", b"{}"])
def test_a_note_that_names_no_resource_is_a_value_error(data):
    with pytest.raises(ValueError, match=r"\w"):
        decode_acl_change(data)


def test_a_filter_by_pattern_type():
    literal, star = ORDERS, ResourcePattern(AclResourceType.TOPIC, "*")
    prefixed = ResourcePattern(AclResourceType.TOPIC, "or", PatternType.PREFIXED)
    patterns = literal, star, prefixed

    def selected(name, pattern):
        wanted = AclBindingFilter(AclResourceType.TOPIC, name, pattern)
        return [each for each in patterns if wanted.selects(each)]

    assert selected("orders", PatternType.LITERAL) == [literal]
    assert selected("or", PatternType.PREFIXED) == [prefixed]
    assert selected("orders", PatternType.ANY) == [literal]
    assert selected("orders", PatternType.MATCH) == [literal, star, prefixed]
    assert selected(None, PatternType.ANY) == [literal, star, prefixed]
    assert AclBindingFilter(AclResourceType.GROUP).selects(literal) is False


def test_a_filter_by_entry():
    assert AclBindingFilter().selects_entry(READ)
    assert AclBindingFilter(principal="User:alice", operation=AclOperation.READ).selects_entry(READ)
    assert not AclBindingFilter(host="10.0.0.1").selects_entry(READ)
    assert not AclBindingFilter(permission=AclPermissionType.DENY).selects_entry(READ)


def test_operations_are_bits():
    assert bits([AclOperation.READ, AclOperation.DESCRIBE]) == 1 << 3 | 1 << 8
