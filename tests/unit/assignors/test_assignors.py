"""The strategies by example: Kafka's documentation's, its own tests', and the articles'."""

import pytest

from engine.assignors import ASSIGNORS, Assignor, RebalanceProtocol, Subscriber, find, protocol
from engine.assignors.protocol import MemberData
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition

THREE = {"C0": "t", "C1": "t", "C2": "t"}


def partitions(text: str) -> tuple[TopicPartition, ...]:
    """`t0-1 t0-2`, or `t 0 1 2` for several of one topic."""
    if "-" in text or not text:
        return tuple(TopicPartition(t, int(n)) for t, n in (it.split("-") for it in text.split()))
    topic, *numbers = text.split()
    return tuple(TopicPartition(topic, int(number)) for number in numbers)


def group(
    wants: dict[str, str], owns: dict[str, str] | None = None, user_data: bytes | None = None
) -> list[Subscriber]:
    """Members by the topics they want, and by what they had last."""
    return [
        Subscriber(id, tuple(topics.split()), partitions((owns or {}).get(id, "")), user_data)
        for id, topics in wants.items()
    ]


def assigned(name: str, members: list[Subscriber], counts: dict[str, int]) -> dict[str, str]:
    shares = ASSIGNORS[name].assign(members, counts)
    return {member: " ".join(map(str, sorted(share))) for member, share in shares.items()}


def numbers(name: str, members: list[Subscriber], count: int) -> list[list[int]]:
    """What each member gets of one topic, in the order in which it is said."""
    shares = ASSIGNORS[name].assign(members, {"t": count})
    return [[it.partition for it in shares[member.id]] for member in members]


def after(assignor: str, members: list[Subscriber], counts: dict[str, int]) -> list[Subscriber]:
    """The members when they join again, with the assignment that they got."""
    shares = ASSIGNORS[assignor].assign(members, counts)
    return [member._replace(owned=shares[member.id]) for member in members]


# -- Kafka's documentation -----------------------------------------------------------------------

LADDER = {"C0": "t0", "C1": "t0 t1", "C2": "t0 t1 t2"}


@pytest.mark.parametrize(
    ("name", "wants", "counts", "expected"),
    [
        (
            "range",
            {"C1": "t0 t1", "C0": "t0 t1"},
            {"t0": 3, "t1": 3},
            {"C0": "t0-0 t0-1 t1-0 t1-1", "C1": "t0-2 t1-2"},
        ),
        (
            "roundrobin",
            {"C1": "t0 t1", "C0": "t0 t1"},
            {"t0": 3, "t1": 3},
            {"C0": "t0-0 t0-2 t1-1", "C1": "t0-1 t1-0 t1-2"},
        ),
        (
            "roundrobin",
            LADDER,
            {"t0": 1, "t1": 2, "t2": 3},
            {"C0": "t0-0", "C1": "t1-0", "C2": "t1-1 t2-0 t2-1 t2-2"},
        ),
        (
            "sticky",
            LADDER,
            {"t0": 1, "t1": 2, "t2": 3},
            {"C0": "t0-0", "C1": "t1-0 t1-1", "C2": "t2-0 t2-1 t2-2"},
        ),
        (
            "sticky",
            {f"C{n}": "t0 t1 t2 t3" for n in range(3)},
            {f"t{n}": 2 for n in range(4)},
            {"C0": "t0-0 t1-1 t3-0", "C1": "t0-1 t2-0 t3-1", "C2": "t1-0 t2-1"},
        ),
        (
            "sticky",
            {"C1": "x", "C2": "x y", "C3": "x"},
            {"x": 3, "y": 2},
            {"C1": "x-0 x-2", "C2": "y-0 y-1", "C3": "x-1"},
        ),
    ],
)
def test_documented(
    name: str, wants: dict[str, str], counts: dict[str, int], expected: dict[str, str]
) -> None:
    assert assigned(name, group(wants), counts) == expected


def test_sticky_keeps_everything_when_one_leaves() -> None:
    """The two examples of the documentation go on."""
    counts = {f"t{n}": 2 for n in range(4)}
    members = after("sticky", group({f"C{n}": "t0 t1 t2 t3" for n in range(3)}), counts)
    first, _, third = members
    shares = ASSIGNORS["sticky"].assign([first, third], counts)
    assert set(first.owned) < set(shares["C0"]) and set(third.owned) < set(shares["C2"])
    assert len(shares["C0"]) == len(shares["C2"]) == 4

    _, second, third = after("sticky", group(LADDER), {"t0": 1, "t1": 2, "t2": 3})
    assert assigned("sticky", [second, third], {"t0": 1, "t1": 2, "t2": 3}) == {
        "C1": "t0-0 t1-0 t1-1",
        "C2": "t2-0 t2-1 t2-2",
    }


def test_sticky_where_round_robin_does_poorly() -> None:
    """Kafka's own scenario: round robin leaves consumer 3 with nothing."""
    everything, odd = "a b c d e", "a c e"
    members = group({"1": everything, "2": odd, "3": odd, "4": everything})
    counts = {"a": 2, "b": 1, "c": 2, "d": 1, "e": 2}
    assert assigned("roundrobin", members, counts)["3"] == ""
    shares = ASSIGNORS["sticky"].assign(members, counts)
    assert {len(share) for share in shares.values()} == {2}


@pytest.mark.parametrize("name", ["range", "roundrobin", "consistent-hash"])
def test_static_members_get_the_same_after_a_restart(name: str) -> None:
    def started(*ids: str) -> list[Subscriber]:
        return [Subscriber(id, ("t0", "t1"), instance_id=f"I{n}") for n, id in enumerate(ids)]

    before = ASSIGNORS[name].assign(started("C0", "C1", "C2"), {"t0": 3, "t1": 3})
    later = ASSIGNORS[name].assign(started("C5", "C3", "C4"), {"t0": 3, "t1": 3})
    assert [later["C5"], later["C3"], later["C4"]] == [before["C0"], before["C1"], before["C2"]]


def test_static_members_come_before_the_others() -> None:
    members = [Subscriber("A", ("t",)), Subscriber("Z", ("t",), instance_id="z")]
    assert numbers("range", members, 3) == [[2], [0, 1]]
    assert numbers("roundrobin", members, 3) == [[1], [0, 2]]


# -- the articles: 10 partitions, 3 members ------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("range", [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]]),
        ("roundrobin", [[0, 3, 6, 9], [1, 4, 7], [2, 5, 8]]),
        ("sticky", [[0, 3, 6, 9], [1, 4, 7], [2, 5, 8]]),
        ("cooperative-sticky", [[0, 3, 6, 9], [1, 4, 7], [2, 5, 8]]),
    ],
)
def test_ten_partitions_and_three_members(name: str, expected: list[list[int]]) -> None:
    assert numbers(name, group(THREE), 10) == expected


@pytest.mark.parametrize(
    ("owns", "expected"),
    [
        ({"C0": "t 0 3 6 9", "C1": "t 1 4 7"}, [[0, 3, 6, 9, 2], [1, 4, 7, 5, 8]]),
        ({"C0": "t 0 1 2 3", "C1": "t 4 5 6"}, [[0, 1, 2, 3, 7], [4, 5, 6, 8, 9]]),
        (
            {"C0": "t 0 1 2 3 4", "C1": "t 5 6 7 8 9", "C2": ""},
            [[0, 1, 2, 3], [5, 6, 7], [4, 8, 9]],
        ),
    ],
)
def test_sticky_when_the_third_leaves_or_joins(
    owns: dict[str, str], expected: list[list[int]]
) -> None:
    assert numbers("sticky", group(dict.fromkeys(owns, "t"), owns), 10) == expected


def test_who_moves_what_when_one_of_ten_leaves() -> None:
    """Consistent hashing does move as few; what it costs is evenness."""
    ten, counts = group({f"C{n}": "t" for n in range(10)}), {"t": 100}
    moved, uneven = {}, {}
    for name in ("range", "roundrobin", "sticky", "consistent-hash"):
        before = after(name, ten, counts)
        shares = ASSIGNORS[name].assign(before[:4] + before[5:], counts)
        lost = [set(it.owned) - set(shares[it.id]) for it in before if it.id in shares]
        moved[name] = sum(map(len, lost))
        sizes = [len(share) for share in shares.values()]
        uneven[name] = max(sizes) - min(sizes)
    assert moved["sticky"] == moved["consistent-hash"] == 0 < moved["range"] < moved["roundrobin"]
    assert uneven["sticky"] == uneven["range"] == uneven["roundrobin"] == 1
    assert uneven["consistent-hash"] > 5


# -- sticky: whom to believe ---------------------------------------------------------------------


def claiming(**claims: tuple[str, int]) -> list[Subscriber]:
    """Members that want one topic and send what they had, and since which generation."""
    return [
        Subscriber(
            id,
            ("t",),
            user_data=protocol.encode_member_data(MemberData(partitions(had), generation)),
        )
        for id, (had, generation) in claims.items()
    ]


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        # the same is claimed twice: the newer generation had it
        (claiming(a=("t 0 2 4", 10), b=("t 0 2 4", 9)), [[0, 2, 4], [1, 3, 5]]),
        (claiming(a=("t 0 2 4", -1), b=("t 0 2 4", 9)), [[1, 3, 5], [0, 2, 4]]),
        # alone for a while, then the others are back: what came last goes first
        (
            claiming(a=("t 0 3", 1), b=("t 1 4 0 2 3 5", 2), c=("t 2 5", 1)),
            [[0, 3], [1, 4], [2, 5]],
        ),
        (
            claiming(a=("t 0 1 4", 1), b=("t 0 1 2", 2), c=("t 3 4 5", 2)),
            [[2, 5], [0, 1], [3, 4]],
        ),
        # what nobody claims more recently is still with whom it was
        (claiming(a=("t 0 1 2", 4), b=("t 5", 3)), [[0, 1, 2], [5, 3, 4]]),
        # twice in one generation: nobody is believed
        (claiming(a=("t 0 1", 3), b=("t 0 2", 3), c=("t", 3)), [[1, 0], [2, 3], [4, 5]]),
        # partitions that do not exist, twice the same, a topic not wanted
        (claiming(a=("t 5 5 6 7", 1), b=("u-0 t-4", 1)), [[5, 0, 2], [4, 1, 3]]),
    ],
)
def test_newer_generations_are_right(members: list[Subscriber], expected: list[list[int]]) -> None:
    assert numbers("sticky", members, 6) == expected


def test_a_topic_that_a_member_wants_no_longer() -> None:
    members = group({"a": "x", "b": "x y"}, {"a": "x-0 y-0", "b": "x-1"})
    assert assigned("sticky", members, {"x": 2, "y": 1}) == {"a": "x-0", "b": "x-1 y-0"}


def test_the_past_as_older_clients_tell_it() -> None:
    """Version 0 has no generation: it is older than any that is known."""
    old = protocol.encode_member_data(MemberData(partitions("t 0 1"), 7))[:-4]
    members = [Subscriber("a", ("t",), user_data=old), *claiming(b=("t 1 3", 1))]
    assert numbers("sticky", members, 4) == [[0, 2], [1, 3]]


@pytest.mark.parametrize("name", ["sticky", "cooperative-sticky"])
@pytest.mark.parametrize("garbage", [b"", b"\0", b"\xff" * 9])
def test_a_past_that_makes_no_sense_is_none(name: str, garbage: bytes) -> None:
    first, second = group({"a": "t", "b": "t"})
    shares = ASSIGNORS[name].assign([first._replace(user_data=garbage), second], {"t": 4})
    assert sorted(map(len, shares.values())) == [2, 2]


def test_a_chain_of_moves_where_no_single_one_helps() -> None:
    """The last has nothing in common with the first: the one between has to pass one on."""
    wants = {"a": "x", "b": "x y", "c": "y"}
    owns = {"a": "x 0 1 2", "b": "x-3 y-0", "c": "y-1"}
    assert assigned("sticky", group(wants, owns), {"x": 4, "y": 2}) == {
        "a": "x-0 x-1",
        "b": "x-2 x-3",
        "c": "y-0 y-1",
    }
    shares = ASSIGNORS["sticky"].assign(group(wants, owns), {"x": 4, "y": 2})
    assert shares["b"] == partitions("x-3 x-2")  # what one keeps comes first: it goes last


def test_what_a_quick_pass_takes_away_comes_home() -> None:
    """The third has nothing at first and may take t2; but the second can give it t0."""
    members = group({"a": "t1 t2", "b": "t0 t1 t2", "c": "t0 t2"}, {"a": "t2-0"})
    assert assigned("sticky", members, {"t0": 1, "t1": 1, "t2": 1}) == {
        "a": "t2-0",
        "b": "t1-0",
        "c": "t0-0",
    }


# -- cooperative ---------------------------------------------------------------------------------


def test_cooperative_moves_in_two_rounds() -> None:
    counts = {"t": 4}
    members = group({"a": "t", "b": "t"}, {"a": "t 0 1 2 3"})
    assert numbers("cooperative-sticky", members, 4) == [[0, 1], []]
    members = after("cooperative-sticky", members, counts)
    assert numbers("cooperative-sticky", members, 4) == [[0, 1], [2, 3]]
    assert numbers("sticky", members, 4) == [[0, 1], [2, 3]]


def test_cooperative_gives_at_once_what_nobody_has() -> None:
    members = group({"a": "t", "b": "t"}, {"a": "t 0 1"})
    assert numbers("cooperative-sticky", members, 4) == [[0, 1], [2, 3]]


def test_cooperative_waits_until_both_have_given_up() -> None:
    """Two say that they own partition 0, of one generation; the third must not have it yet."""
    owns = {"a": "t 0 1", "b": "t 0 2", "c": ""}
    members = group(dict.fromkeys(owns, "t"), owns, user_data=protocol.encode_generation(3))
    assert numbers("cooperative-sticky", members, 3) == [[1], [2], []]


@pytest.mark.parametrize("in_subscription", [True, False])
def test_cooperative_believes_the_newer_generation(in_subscription: bool) -> None:
    """Where it is said: since Kafka 3 in the subscription, before in the user data."""
    members = [
        Subscriber("a", ("t",), partitions("t 0 1"), None, generation)
        if in_subscription
        else Subscriber("a", ("t",), partitions("t 0 1"), protocol.encode_generation(generation))
        for generation in (6, 5)
    ]
    members[1] = members[1]._replace(id="b")
    assert numbers("cooperative-sticky", members, 4) == [[0, 1], [2, 3]]
    if in_subscription:  # which is the newer way to say it, and is believed
        members[1] = members[1]._replace(user_data=protocol.encode_generation(7))
    assert numbers("cooperative-sticky", members[::-1], 4) == [[2, 3], [0, 1]]


# -- every strategy ------------------------------------------------------------------------------


@pytest.mark.parametrize("assignor", ASSIGNORS.values(), ids=ASSIGNORS)
def test_the_ends_of_the_scale(assignor: Assignor) -> None:
    assert assignor.assign([], {"t": 3}) == {}
    wanting = Subscriber("a", ("t", "gone"))
    assert assignor.assign([wanting], {}) == {"a": ()}
    assert assignor.assign([wanting], {"t": 0, "other": 5}) == {"a": ()}
    assert assignor.assign([wanting._replace(topics=("t", "t"))], {"t": 2}) == {
        "a": partitions("t 0 1")
    }
    many = assignor.assign([wanting._replace(id=str(n)) for n in range(5)], {"t": 2})
    assert sorted(sum(many.values(), ())) == list(partitions("t 0 1"))


@pytest.mark.parametrize("name", ["range", "roundrobin", "sticky", "cooperative-sticky"])
def test_a_topic_named_twice_counts_once(name: str) -> None:
    members = [Subscriber("a", ("t", "t")), Subscriber("b", ("t",))]
    shares = ASSIGNORS[name].assign(members, {"t": 4})
    assert sorted(map(len, shares.values())) == [2, 2]


def test_a_large_group_that_wants_different_topics() -> None:
    """200 members and 5,000 partitions: one goes, and the others keep what they have."""
    counts = {f"t{n}": 250 for n in range(20)}
    members = [
        Subscriber(f"m{n}", tuple(f"t{k}" for k in range(20) if (n + k) % 3)) for n in range(200)
    ]
    _, *rest = after("sticky", members, counts)
    shares = ASSIGNORS["sticky"].assign(rest, counts)
    assert {len(member.owned) for member in rest} == {25}
    assert {len(share) for share in shares.values()} == {25, 26}
    assert all({*member.owned} <= {*shares[member.id]} for member in rest)


def test_names() -> None:
    assert list(ASSIGNORS) == [
        "range",
        "roundrobin",
        "sticky",
        "cooperative-sticky",
        "consistent-hash",
    ]
    for name, assignor in ASSIGNORS.items():
        assert find(name) is assignor and assignor.name == name
    for name in ("RangeAssignor", "RoundRobinAssignor", "StickyAssignor"):
        assert find(f"org.apache.kafka.clients.consumer.{name}").alias.endswith(f".{name}")
    cooperative = find("org.apache.kafka.clients.consumer.CooperativeStickyAssignor")
    assert cooperative.name == "cooperative-sticky"
    assert cooperative.protocols == (RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER)
    assert find("sticky").protocols == (RebalanceProtocol.EAGER,)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("stiky", "did you mean sticky?"),
        ("round-robin", "did you mean roundrobin?"),
        ("", "known are range, roundrobin, sticky, cooperative-sticky, consistent-hash"),
    ],
)
def test_an_unknown_name(name: str, sentence: str) -> None:
    with pytest.raises(ApiException) as refused:
        find(name)
    assert refused.value.code == ErrorCode.invalid_config
    assert refused.value.message.endswith(sentence)


def test_what_is_told_to_the_next_leader() -> None:
    had = partitions("t 3 1")
    assert find("range").user_data(had, 5) is None
    assert find("sticky").user_data(None, -1) is None
    sent = find("sticky").user_data(had, 5) or b""
    assert protocol.decode_member_data(sent) == MemberData(had, 5)
    assert find("cooperative-sticky").user_data(None, -1) == b"\xff\xff\xff\xff"
    assert find("cooperative-sticky").user_data(had, 5) == b"\0\0\0\5"
