"""Questions on transactions: what readers see, and which producer may go on."""

from collections.abc import Callable, Hashable, Sequence
from random import Random

from engine.client.values import KafkaException
from engine.sim.simulation import Simulation
from engine.sim.transactional_producer import SteppedProducer
from oracle.cluster_situation import TOPIC, ClusterSituation
from oracle.situation import Answer, Situation

SETTLED_MS = 500


class CommittedReader(ClusterSituation):
    """What does a consumer with isolation.level=read_committed get?"""

    level, idea, section = 2, "transaction", "promises#guarantee-text"
    ENDS = ("commit", "abort", "open", "dies", "replaced")

    def __init__(self, chance: Random) -> None:
        super().__init__(chance)
        self.end = chance.choice(self.ENDS)
        self.reads_all = chance.random() < 0.25
        level = "read_uncommitted" if self.reads_all else "read_committed"
        self.happens = {
            "commit": "The transaction is committed.",
            "abort": "The transaction is aborted.",
            "open": "The transaction stays open.",
            "dies": "The producer of the transaction dies; it is a second ago.",
            "replaced": "The producer of the transaction dies; another one with its "
            "transactional.id starts.",
        }[self.end]
        self.asks = f"What does a consumer with isolation.level={level} get, from the beginning?"

    def prepare(self, sim: Simulation) -> None:
        self.create(sim)
        self.store(sim, 1)  # a
        self.till = sim.transactional("till")
        self.till.begin()
        self.till.send(TOPIC, "B")
        self.till.send(TOPIC, "C")
        self._sent = 3
        self.store(sim, 1)  # d

    def strike(self, sim: Simulation) -> None:
        if self.end == "commit":
            self.till.commit()
        elif self.end == "abort":
            self.till.abort()
        elif self.end == "replaced":
            sim.transactional("till")
        sim.run(ms=SETTLED_MS if self.end != "dies" else 1000)

    def observe(self, sim: Simulation) -> Hashable:
        return " ".join(sim.read(TOPIC, committed=not self.reads_all))

    def facts(self) -> list[str]:
        return [
            "Records a and d were sent without a transaction, B and C in one.",
            "transaction.timeout.ms is 6000.",
        ]

    def answers(self) -> Sequence[Answer]:
        return [
            Answer(
                "a B C d",
                "a B C d",
                "read_committed shows no record of a transaction that was aborted, or is open.",
            ),
            Answer(
                "a d",
                "a d",
                "Records behind an open transaction wait for its end, and those of a "
                "committed one count.",
            ),
            Answer(
                "a",
                "a",
                "Only an open transaction holds back what is behind it, and only from "
                "read_committed.",
            ),
            Answer("a B C", "a B C", "d was not in the transaction."),
        ]

    def reason(self, outcome: Hashable) -> str:
        if self.reads_all:
            return "read_uncommitted shows every record below the high watermark, aborted ones too."
        return {
            "commit": "The marker in the log says that B and C count.",
            "abort": "The marker in the log says that B and C do not count.",
            "open": "The last stable offset is the first record of the open transaction.",
            "dies": "Nobody has ended the transaction: the coordinator waits for its time-out.",
            "replaced": "The new producer's InitProducerId aborts what the old one left open.",
        }[self.end]


class TwoProducers(ClusterSituation):
    """Something happens while a transaction is open. What does its commit return?"""

    level, idea, section = 3, "fencing", "promises#guarantee-text"
    CASES = (
        "alone",
        "second starts",
        "second starts",
        "timeout",
        "timeout",
        "leader dies",
        "other id",
    )
    DONE, REFUSED = "committed", "refused"

    def __init__(self, chance: Random) -> None:
        super().__init__(chance)
        self.case = chance.choice(self.CASES)
        self.sends = self.case == "second starts" and chance.random() < 0.5
        self.happens = {
            "alone": "Three seconds pass.",
            "second starts": "A second producer with the same transactional.id starts"
            + (", sends b in a transaction of its own, and commits it." if self.sends else "."),
            "timeout": "Twenty seconds pass.",
            "leader dies": f"Broker {self.leader}, which leads the partition, dies; seconds pass.",
            "other id": "A producer with another transactional.id starts, sends b in a transaction "
            "of its own, and commits it.",
        }[self.case] + " Then the first producer commits."
        self.asks = "What comes of it, and what does a read_committed consumer get?"

    def prepare(self, sim: Simulation) -> None:
        self.create(sim)
        self.first = sim.transactional("till")
        self.first.begin()
        self.first.send(TOPIC, "a")

    def strike(self, sim: Simulation) -> None:
        match self.case:
            case "alone":
                sim.run(3)
            case "second starts":
                second = sim.transactional("till")
                if self.sends:
                    self._transact(second)
            case "timeout":
                sim.run(20)
            case "leader dies":
                sim.kill(self.leader)
                sim.run(4.5)
            case "other id":
                self._transact(sim.transactional("other"))
        self.heard = self._heard(self.first.commit)
        sim.run(15)

    @staticmethod
    def _transact(producer: SteppedProducer) -> None:
        producer.begin()
        producer.send(TOPIC, "b")
        producer.commit()

    def _heard(self, call: Callable[[], None]) -> str:
        try:
            call()
        except KafkaException:
            return self.REFUSED
        return self.DONE

    def observe(self, sim: Simulation) -> Hashable:
        return self.heard, " ".join(sim.read(TOPIC, committed=True))

    def facts(self) -> list[str]:
        return [
            'A producer with transactional.id="till" has begun a transaction, and sent a.',
            "transaction.timeout.ms is 6000; the coordinator looks every ten seconds.",
        ]

    def table(self) -> None:
        """Nothing about the replicas matters."""

    def answers(self) -> Sequence[Answer]:
        other = "a b" if self.case == "other id" else "b"
        return [
            Answer(
                "it is committed: a is read",
                (self.DONE, "a"),
                "Somebody else ended it before, or b is there, too.",
            ),
            Answer(
                "it is refused: nothing is read",
                (self.REFUSED, ""),
                "Nobody has fenced it, or b is there.",
            ),
            Answer(
                f"it is {'committed' if ' ' in other else 'refused'}: {other} is read",
                (self.DONE if " " in other else self.REFUSED, other),
                "Nobody has committed b, or nobody has fenced the first producer.",
            ),
            Answer(
                "it is committed: nothing is read", (self.DONE, ""), "A commit that returns counts."
            ),
        ]

    def reason(self, outcome: Hashable) -> str:
        return {
            "alone": "The transaction is open, and younger than its time-out.",
            "second starts": "The second one has raised the epoch of the id: the first transaction "
            "was aborted, and whatever comes with the old epoch is refused.",
            "timeout": "The coordinator has aborted the transaction, and raised the epoch.",
            "leader dies": "The transaction is in the coordinator's log, and the records on other "
            "replicas: another leader gets the marker.",
            "other id": "Another id has transactions of its own.",
        }[self.case]


KINDS: dict[str, type[Situation]] = {
    "committed-reader": CommittedReader,
    "two-producers": TwoProducers,
}
