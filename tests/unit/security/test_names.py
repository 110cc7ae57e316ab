"""Who somebody is by a certificate, and who the broker is by its JAAS line."""

import pytest

from engine.errors import ApiException
from engine.security import jaas
from engine.security.mechanism import AuthenticationFailed
from engine.security.plain import PlainClient, PlainServer
from engine.security.principals import (
    ANONYMOUS,
    PrincipalMapper,
    user_of_znode,
    znode_name,
)

SUBJECT = (
    (("countryName", "DE"),),
    (("organizationName", "School, Ltd"),),
    (("organizationalUnitName", "Lab"),),
    (("commonName", "Alice"),),
)
CERTIFICATE = {"subject": SUBJECT}
FULL = r"CN=Alice,OU=Lab,O=School\, Ltd,C=DE"


@pytest.mark.parametrize(
    ("rules", "name"),
    [
        ("DEFAULT", FULL),
        ("RULE:^CN=(.*?),OU=Lab.*$/$1/", "Alice"),
        ("RULE:^CN=(.*?),.*$/$1/L", "alice"),
        ("RULE:^CN=(.*?),OU=(.*?),.*$/$2-$1/U", "LAB-ALICE"),
        ("RULE:^CN=nobody$/x/, RULE:^CN=([^,]+).*$/$1@here/,DEFAULT", "Alice@here"),
        ("RULE:^CN=([^,]+).*$/$1$9/", "Alice$9"),  # there is no ninth group
    ],
)
def test_the_first_rule_that_matches(rules: str, name: str) -> None:
    assert str(PrincipalMapper(rules).principal(CERTIFICATE)) == f"User:{name}"


def test_without_a_rule_or_a_certificate() -> None:
    with pytest.raises(AuthenticationFailed, match="No rules apply"):
        PrincipalMapper("RULE:^CN=nobody$/x/").principal(CERTIFICATE)
    assert PrincipalMapper("DEFAULT").principal(None) == ANONYMOUS


@pytest.mark.parametrize("rules", ["RULE:^CN=(.*?)", "RULE:(/x/", "SOMETHING"])
def test_rules_that_are_none(rules: str) -> None:
    with pytest.raises(ApiException, match="Invalid rule"):
        PrincipalMapper(rules)


def test_a_line_of_jaas_and_back() -> None:
    users = {"alice": 'se"cr=et;', "bob": "\\'"}
    for mechanism in ("PLAIN", "SCRAM-SHA-512"):
        found = jaas.parse("key", jaas.line(mechanism, "broker", "own", users))
        assert (found.username, found.password, found.users) == ("broker", "own", users)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Module required",
        "Module required user_a=secret",
        "Module sometimes user_a=secret;",
        "Module required user_a secret;",
        "Module required user_a=;",
        'Module required user_a="secret;',
        "Module required user_a=secret; Other required;",
    ],
)
def test_a_line_that_is_none_is_not_quoted(text: str) -> None:
    with pytest.raises(ApiException) as refused:
        jaas.parse("key", text)
    assert "JAAS" in refused.value.message
    assert "secret" not in refused.value.message
    assert "secret" not in repr(jaas.parse("key", "Module required user_a=secret;"))


@pytest.mark.parametrize(
    ("token", "why"),
    [
        (b"alice", "expected 3 tokens, got 1"),
        (b"a\0b\0c\0d", "expected 3 tokens, got 4"),
        (b"\0\0secret", "username not specified"),
        (b"\0alice\0", "password not specified"),
        (b"\0alice\0wrong", "Invalid username or password"),
        (b"\0nobody\0secret", "Invalid username or password"),
        (b"admin\0alice\0secret", "authorization id that is different"),
    ],
)
def test_plain_refuses(token: bytes, why: str) -> None:
    broker = PlainServer({"alice": "secret"})
    with pytest.raises(AuthenticationFailed, match=why):
        broker.evaluate(token)
    assert broker.name is None


def test_plain_lets_in() -> None:
    broker, client = PlainServer({"alice": "secret"}), PlainClient("alice", "secret")
    assert broker.evaluate(client.first()) == b""
    assert client.evaluate(b"") is None
    assert broker.name == "alice"


@pytest.mark.parametrize("name", ["alice", "a/b", "ü~*", "<default>", "."])
def test_the_znode_of_a_user(name: str) -> None:
    assert user_of_znode(znode_name(name)) == name
    assert "/" not in znode_name(name)
    assert znode_name("a b*~/é") == "a%20b%2A%7E%2F%C3%A9"  # as Kafka's Sanitizer
