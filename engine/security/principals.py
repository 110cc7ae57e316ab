"""Who somebody is: a principal, such as User:alice.

    SASL               User:NAME, the name of the login
    a certificate      User:CN=alice,OU=lab,O=school, or what ssl.principal.mapping.rules make of it
    neither            User:ANONYMOUS

The rules are tried in their order; the first that matches makes the name, DEFAULT takes the whole
distinguished name (RFC 2253, as Java writes it), and where none matches, the connection is refused:

    RULE:^CN=(.*?),OU=lab.*$/$1/L,  RULE:^CN=(.*?)$/$1/,  DEFAULT
         pattern             | name | lower (L) or upper (U) case
"""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from engine.errors import ApiException, invalid_config
from engine.security.mechanism import AuthenticationFailed

RULES = "ssl.principal.mapping.rules"

_RULE = re.compile(r"\s*(?:(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?))\s*(,|$)")
_REFERENCE = re.compile(r"\$(\d+)|\\(.)")
_SHORT = {
    "commonName": "CN",
    "countryName": "C",
    "domainComponent": "DC",
    "localityName": "L",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "stateOrProvinceName": "ST",
    "streetAddress": "STREET",
    "userId": "UID",
}
_SPECIAL = re.compile(r'([,+"\\<>;]|^[# ]| $)')


class Principal(NamedTuple):
    name: str
    type: str = "User"

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


ANONYMOUS = Principal("ANONYMOUS")


def znode_name(user: str) -> str:
    """The name of a user's znode: what has a meaning in a path is written as in a URL."""
    return quote(user, safe="-_.").replace("~", "%7E")


class _Rule(NamedTuple):
    pattern: re.Pattern[str] | None  # None: DEFAULT
    replacement: str = ""
    case: str = ""

    def apply(self, name: str) -> str | None:
        if self.pattern is None:
            return name
        match = self.pattern.fullmatch(name)
        if match is None:
            return None
        made = _REFERENCE.sub(lambda each: _referenced(each, match), self.replacement)
        return {"L": made.lower(), "U": made.upper()}.get(self.case, made)


def user_of_znode(name: str) -> str:
    return unquote(name)


class PrincipalMapper:
    def __init__(self, rules: str) -> None:
        self._rules = list(_parsed(rules.strip()))

    def principal(self, certificate: Any) -> Principal:
        """Of a peer's certificate, as `ssl` describes it; ANONYMOUS if there is none."""
        if not certificate:
            return ANONYMOUS
        name = distinguished_name(certificate["subject"])
        for rule in self._rules:
            if (found := rule.apply(name)) is not None:
                return Principal(found)
        raise AuthenticationFailed(f"No rules apply to {name}")


def distinguished_name(subject: Iterable[Iterable[tuple[str, str]]]) -> str:
    """The names of a certificate, the last one first, as Java's X500Principal writes them."""
    parts = ["+".join(_written(kind, text) for kind, text in each) for each in subject]
    return ",".join(reversed(parts))


def _written(kind: str, text: str) -> str:
    return f"{_SHORT.get(kind, kind)}=" + _SPECIAL.sub(r"\\\1", text)


def _parsed(rules: str) -> Iterable[_Rule]:
    position = 0
    while position < len(rules):
        match = _RULE.match(rules, position)
        if match is None:
            raise _invalid(rules[position:])
        default, pattern, replacement, case, _ = match.groups()
        try:
            yield _Rule(None) if default else _Rule(re.compile(pattern), replacement, case)
        except re.error as error:
            raise _invalid(f"{rules[position:]}: {error}") from error
        position = match.end()


def _referenced(reference: re.Match[str], match: re.Match[str]) -> str:
    """$2 is the second group; a number without a group stands for itself."""
    if reference[2] is not None:
        return reference[2]
    digits = reference[1]
    for length in range(len(digits), 0, -1):
        if (number := int(digits[:length])) <= (match.re.groups):
            return (match[number] or "") + digits[length:]
    return reference[0]


def _invalid(rule: str) -> ApiException:
    return invalid_config(f"{RULES}: Invalid rule: {rule}")
