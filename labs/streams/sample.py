"""What the guests of a tea house do, as records. They do the same each time: results compare.

cards    key: the guest    value: 20 topped up, or -4 paid
orders   key: the guest    value: the tea
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from random import Random

GUESTS = ("Zhangsan", "Lisi", "Wangwu", "Mei", "Tom")
PRICES = {"jasmine": 3, "oolong": 4, "pu-erh": 6, "sencha": 5}

Pair = tuple[str, str]  # key and value of a record


def cards() -> Iterator[tuple[str, int]]:
    """Top-ups and payments without end: who, and how much."""
    chance = Random(7)
    while True:
        guest = chance.choice(GUESTS)
        yield guest, 20 if chance.random() < 0.2 else -chance.choice([3, 4, 5, 6])


def some_cards(number: int) -> list[tuple[str, int]]:
    return list(islice(cards(), number))


def orders(number: int) -> list[Pair]:
    """Who ordered which tea."""
    chance = Random(11)
    return [(chance.choice(GUESTS), chance.choice(list(PRICES))) for _ in range(number)]


def counts(events: Iterable[tuple[str, object]]) -> dict[str, int]:
    """How many events of each guest."""
    table: dict[str, int] = {}
    for guest, _ in events:
        table[guest] = table.get(guest, 0) + 1
    return dict(sorted(table.items()))
