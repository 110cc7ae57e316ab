"""The positions of brokers, ZooKeeper and clients in the picture, and of the links between them.

                 ZooKeeper
               /     |     \\          sessions
         broker 1 ─ broker 2 ─ broker 3          neighbours: straight
              └────────────────────┘             others: an arc below
         producers      legend      consumers

On a narrow page the cards are narrow, and a row has fewer of them. Then all links are arcs below
their row, since there is no room between the cards. Where the height is limited, ZooKeeper is one
line, then the clients are left out, and at last the legend.

An ensemble of ZooKeeper servers has a card for each of them inside ZooKeeper's, which is then as
much higher; a session starts below the server that the broker is connected to.

Invariant: cards never overlap each other, and stay within the width.
"""

from dataclasses import dataclass
from typing import NamedTuple

WIDTH = 748  # usual, the margins included
NARROW = 560  # below it, cards are close to each other
TOP, HIGH = 150, 126  # of the first row of brokers; without clients
LOW_TOP = 78  # the same, below a ZooKeeper in one line
MOST = 5  # brokers in a row
LEAST, WIDEST = 104, 300  # of a broker's card
HEADING, FOOT = 44, 26  # of a broker's card, above and below its replicas
KEEPER, LOW_KEEPER = 62, 32  # height of ZooKeeper's card
LOW_WIDTH = 386  # of its card in one line
SERVER_GAP = 8
CLIENT = 226  # the widest card of clients
SIGNS = 236  # the least room for the legend between the clients
SIGNS_LINE = 490  # on one line
SERVER, SERVER_LEAST, SERVER_HIGH = 168, 88, 62  # of a ZooKeeper server's card
SERVERS = 58  # where these begin, below the upper edge of ZooKeeper's card
LEVEL = 84  # where neighbours are linked, below the upper edge of their cards
BELOW = 12  # from the cards to words about such a link


class Box(NamedTuple):
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height


@dataclass(frozen=True)
class ClusterLayout:
    brokers: tuple[int, ...]
    inside: float  # height of a card's content
    width: float = WIDTH
    signs: bool = True  # whether there is a legend
    ends: bool = True  # and clients
    tight: bool = False  # whether it is to be low
    servers: tuple[int, ...] = ()  # of ZooKeeper, if it is an ensemble
    sessions: tuple[tuple[int, int], ...] = ()  # a broker, and the server that it uses

    @property
    def narrow(self) -> bool:
        return self.width < NARROW

    @property
    def margin(self) -> float:
        return 8 if self.narrow else 14

    @property
    def low(self) -> bool:
        """Whether ZooKeeper is one line."""
        return self.tight and not self.servers and self.width >= LOW_WIDTH + 2 * self.margin

    @property
    def top(self) -> float:
        if self.low:
            return LOW_TOP
        return (TOP if self.ends else HIGH) + self.keeper.height - KEEPER

    @property
    def gap(self) -> float:
        """Between two cards."""
        return 9 if self.narrow else 26 if self.width >= WIDTH else 22

    @property
    def indent(self) -> float:
        """Of a card's content."""
        return 8 if self.narrow else 12

    @property
    def across(self) -> int:
        """How many brokers there are in a row."""
        room = int((self.width - 2 * self.margin + self.gap) // (LEAST + self.gap))
        return min(max(len(self.brokers), 1), max(room, 1), MOST)

    @property
    def card_width(self) -> float:
        room = self.width - 2 * self.margin - self.gap * (self.across - 1)
        return min(room / self.across, WIDEST)

    @property
    def card(self) -> float:
        return HEADING + self.inside + FOOT

    @property
    def rows(self) -> int:
        return max(-(-len(self.brokers) // self.across), 1)

    @property
    def keeper(self) -> Box:
        """ZooKeeper's card."""
        if self.low:
            return Box((self.width - LOW_WIDTH) / 2, 8, LOW_WIDTH, LOW_KEEPER)
        if not self.servers:
            return Box(self.width / 2 - 120, 14, 240, KEEPER)
        across = self._servers_across
        width = across * (self._server_width + SERVER_GAP) + SERVER_GAP
        rows = -(-len(self.servers) // across)
        height = SERVERS + rows * (SERVER_HIGH + SERVER_GAP)
        return Box((self.width - width) / 2, 14, width, height)

    def server(self, number: int) -> Box:
        """A ZooKeeper server's card."""
        row, place = divmod(self.servers.index(number), self._servers_across)
        keeper, width = self.keeper, self._server_width
        x = keeper.x + SERVER_GAP + place * (width + SERVER_GAP)
        y = keeper.y + SERVERS + row * (SERVER_HIGH + SERVER_GAP)
        return Box(x, y, width, SERVER_HIGH)

    @property
    def _servers_across(self) -> int:
        room = self.width - 2 * self.margin - SERVER_GAP
        return max(min(len(self.servers), int(room // (SERVER_LEAST + SERVER_GAP))), 1)

    @property
    def _server_width(self) -> float:
        room = (self.width - 2 * self.margin - SERVER_GAP) / self._servers_across
        return min(room - SERVER_GAP, SERVER)

    @property
    def between(self) -> float:
        """From one row of brokers to the next, with room for arcs and words about sessions."""
        return 46

    def box(self, broker: int) -> Box:
        row, place = divmod(self.brokers.index(broker), self.across)
        left = (self.width - self.across * self.card_width - (self.across - 1) * self.gap) / 2
        x = left + place * (self.card_width + self.gap)
        return Box(x, self.top + row * (self.card + self.between), self.card_width, self.card)

    @property
    def floor(self) -> float:
        """The y below all brokers."""
        return self.top + self.rows * (self.card + self.between) - self.between

    @property
    def arcs(self) -> float:
        """The depth that the longest arc needs."""
        if self.rows > 1:
            return 40
        if self.narrow:
            return 18 * (len(self.brokers) - 1) + 8
        return 18 * min(len(self.brokers) - 1, MOST) if len(self.brokers) > 2 else 0

    @property
    def clients(self) -> float:
        return self.floor + self.arcs + (24 if self.ends else 0)

    @property
    def client_height(self) -> float:
        return 64 if self.narrow else 56

    @property
    def signs_between(self) -> bool:
        """Whether the legend stands between the clients, or below them."""
        return self.ends and self.width - 2 * self.margin - 2 * CLIENT >= SIGNS

    @property
    def legend(self) -> Box:
        """The place of the legend."""
        if self.signs_between:
            return Box(self.width / 2 - SIGNS / 2, self.clients + 4, SIGNS, 44)
        y = self.clients + (self.client_height + 12 if self.ends else 8)
        wide = self.width - 2 * self.margin
        return Box(self.margin, y, wide, 20 if wide >= SIGNS_LINE else 44)

    @property
    def height(self) -> float:
        if self.signs and not self.signs_between:
            return self.legend.bottom + self.margin
        if not self.ends:
            return self.floor + self.arcs + self.margin
        return self.clients + self.client_height + self.margin

    @property
    def producers(self) -> Box:
        return Box(self.margin, self.clients, self._client_width, self.client_height)

    @property
    def consumers(self) -> Box:
        x = self.width - self.margin - self._client_width
        return Box(x, self.clients, self._client_width, self.client_height)

    @property
    def _client_width(self) -> float:
        return min(CLIENT, (self.width - 2 * self.margin - self.gap) / 2)

    def pairs(self) -> list[tuple[int, int]]:
        """Every two brokers that are linked in the picture; in one row all of them."""
        return [
            (one, other)
            for place, one in enumerate(self.brokers)
            for other in self.brokers[place + 1 :]
            if self.rows == 1 or self.beside(one, other)
        ]

    def beside(self, one: int, other: int) -> bool:
        """Whether two are neighbours in a row."""
        return abs(self.brokers.index(one) - self.brokers.index(other)) == 1 and (
            self.box(one).y == self.box(other).y
        )

    def straight(self, one: int, other: int) -> bool:
        """Whether their link is a line from card to card; else it is an arc below."""
        return not self.narrow and self.beside(one, other)

    def session(self, broker: int) -> str:
        """From ZooKeeper to a broker; to the second row it passes behind the first."""
        box, start, bottom = self.box(broker), self.start(broker), self.keeper.bottom
        turn = self.top - 38
        if box.middle == start:
            return f"M{start:g} {bottom:g}V{box.y:g}"
        bend = f"C{start:g} {turn:g} {box.middle:g} {turn:g} {box.middle:g} {self.top:g}"
        return f"M{start:g} {bottom:g}{bend}V{box.y:g}"

    def start(self, broker: int) -> float:
        """The x where its session starts: at its server, or in the middle of ZooKeeper."""
        server = dict(self.sessions).get(broker)
        return self.keeper.middle if server is None else self.server(server).middle

    def pill(self, broker: int) -> tuple[float, float]:
        """Where words about its session are centred."""
        box, middle = self.box(broker), self.start(broker)
        return box.middle + (middle - box.middle) * 0.14, max(box.y - 28, self.top - 28)

    def way(self, one: int, other: int) -> str:
        """From one broker to another."""
        here, there = self.box(one), self.box(other)
        if self.straight(one, other):
            y = here.y + min(LEVEL, here.height / 2)
            ends = (here.right, there.x) if here.x < there.x else (here.x, there.right)
            return f"M{ends[0]:.1f} {y:.1f}L{ends[1]:.1f} {y:.1f}"
        depth = self.dip(one, other)
        return (
            f"M{here.middle:.1f} {here.bottom:.1f}"
            f"C{here.middle:.1f} {here.bottom + depth:.1f} {there.middle:.1f} "
            f"{there.bottom + depth:.1f} {there.middle:.1f} {there.bottom:.1f}"
        )

    def dip(self, one: int, other: int) -> float:
        """How far below the brokers an arc's control points are; it reaches three quarters of
        that."""
        return 24 * abs(self.brokers.index(one) - self.brokers.index(other))

    def words(self, one: int, other: int) -> tuple[float, float]:
        """Where words about the link of two brokers are centred. Between neighbours there is no
        room for them: they stand below."""
        here, there = self.box(one), self.box(other)
        depth = BELOW if self.straight(one, other) else 0.75 * self.dip(one, other)
        return (here.middle + there.middle) / 2, here.bottom + depth

    def written(self, broker: int) -> str:
        """From the producers to a leader."""
        box, start = self.box(broker), self.producers
        return _rise(start.middle, start.y, box.middle - 12, box.bottom)

    def read(self, broker: int) -> str:
        """From a leader to the consumers."""
        box, end = self.box(broker), self.consumers
        return _rise(box.middle + 12, box.bottom, end.middle, end.y)


def _rise(x1: float, y1: float, x2: float, y2: float) -> str:
    half = (y1 + y2) / 2
    return f"M{x1:.1f} {y1:.1f}C{x1:.1f} {half:.1f} {x2:.1f} {half:.1f} {x2:.1f} {y2:.1f}"
