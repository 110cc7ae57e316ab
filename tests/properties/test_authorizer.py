"""The authorizer agrees with one that is written as plainly as can be, for any rules."""

from hypothesis import given
from hypothesis import strategies as st

from engine.security.acls import (
    AccessControlEntry,
    AclOperation,
    AclPermissionType,
    AclResource,
    AclResourceType,
    PatternType,
    ResourcePattern,
)
from engine.security.authorizer import AclAuthorizer

PRINCIPALS = ["User:a", "User:b", "Team:a"]
HOSTS = ["10.0.0.1", "10.0.0.2"]
TYPES = [AclResourceType.TOPIC, AclResourceType.GROUP]
NAMES = ["a", "ab", "abc", "b"]
ALL_OPERATIONS = list(AclOperation)[2:]

patterns = st.builds(
    ResourcePattern,
    st.sampled_from(TYPES),
    st.sampled_from([*NAMES, "*"]),
    st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
)
entries = st.builds(
    AccessControlEntry,
    st.sampled_from([*PRINCIPALS, "User:*"]),
    st.sampled_from([*HOSTS, "*"]),
    st.sampled_from(ALL_OPERATIONS),
    st.sampled_from([AclPermissionType.ALLOW, AclPermissionType.DENY]),
)
rules = st.dictionaries(patterns, st.frozensets(entries, max_size=4), max_size=6)
questions = st.tuples(
    st.sampled_from(PRINCIPALS),
    st.sampled_from(HOSTS),
    st.sampled_from(ALL_OPERATIONS[1:]),
    st.builds(AclResource, st.sampled_from(TYPES), st.sampled_from(NAMES)),
)


def plainly(rules, super_users, is_open, principal, host, operation, resource):
    """Kafka's documentation, sentence by sentence."""
    if principal in super_users:
        return True
    about_it = []
    for pattern, found in rules.items():
        if pattern.type != resource.type:
            continue
        literal = pattern.pattern == PatternType.LITERAL
        if literal and pattern.name not in (resource.name, "*"):
            continue
        if not literal and not resource.name.startswith(pattern.name):
            continue
        about_it += found
    if not about_it:
        return is_open
    operations = [operation]
    if operation == AclOperation.DESCRIBE:
        operations += [
            AclOperation.READ,
            AclOperation.WRITE,
            AclOperation.DELETE,
            AclOperation.ALTER,
        ]
    if operation == AclOperation.DESCRIBE_CONFIGS:
        operations += [AclOperation.ALTER_CONFIGS]
    allowed = False
    for entry in about_it:
        same_person = entry.principal == principal or entry.principal == "User:*"
        same_host = entry.host == host or entry.host == "*"
        if not (same_person and same_host):
            continue
        if entry.permission == AclPermissionType.DENY:
            if entry.operation in (operation, AclOperation.ALL):
                return False
        elif entry.operation == AclOperation.ALL or entry.operation in operations:
            allowed = True
    return allowed


@given(
    rules,
    st.frozensets(st.sampled_from(PRINCIPALS), max_size=1),
    st.booleans(),
    st.lists(questions),
)
def test_decisions(rules, super_users, is_open, asked):
    authorizer = AclAuthorizer(super_users, open_by_default=is_open)
    for resource, found in rules.items():
        authorizer.update(resource, found)
    for question in asked * 2:  # the second time they are remembered
        assert authorizer.allowed(*question) == plainly(rules, super_users, is_open, *question)


@given(rules, rules, questions)
def test_decisions_follow_a_change_of_the_rules(before, after, question):
    authorizer = AclAuthorizer()
    for resource, found in before.items():
        authorizer.update(resource, found)
    authorizer.allowed(*question)
    for resource in before.keys() | after.keys():
        authorizer.update(resource, after.get(resource, ()))
    assert authorizer.allowed(*question) == plainly(after, (), False, *question)


@given(rules, st.sampled_from(PRINCIPALS), st.sampled_from(HOSTS))
def test_what_is_allowed_on_some_resource_is_allowed_on_any(rules, principal, host):
    """Tried with every name of up to three letters. The other way round it need not hold: as in
    Kafka, "*" counts as allowed even if all of these names are denied one by one."""
    authorizer = AclAuthorizer()
    for resource, found in rules.items():
        authorizer.update(resource, found)
    letters = "abcx"
    names = [a + b + c for a in letters for b in ["", *letters] for c in ["", *letters]]
    some = any(
        authorizer.allowed(
            principal, host, AclOperation.WRITE, AclResource(AclResourceType.TOPIC, name)
        )
        for name in names
    )
    on_any = authorizer.allowed_on_any(principal, host, AclOperation.WRITE, AclResourceType.TOPIC)
    assert on_any or not some


def test_a_super_user_needs_no_rule():
    everything = ResourcePattern(AclResourceType.TOPIC, "*")
    denied = AccessControlEntry("User:*", "*", AclOperation.ALL, AclPermissionType.DENY)
    authorizer = AclAuthorizer(["User:admin"])
    authorizer.update(everything, [denied])
    orders = AclResource(AclResourceType.TOPIC, "orders")
    assert authorizer.allowed("User:admin", "10.0.0.1", AclOperation.WRITE, orders)
    assert not authorizer.allowed("User:alice", "10.0.0.1", AclOperation.WRITE, orders)
