"""Each claim's cases about elections, the controller and ZooKeeper; as verdicts.py does.

ledger.decide(**rulings.appointed(appointed))
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import engine.controller
from replication import controller, elections, herd, office, roles, tree
from replication.world import Message

Cases: TypeAlias = Mapping[str, Mapping[str, bool]]


def order(seen: elections.Order) -> Cases:
    first = next(it for it in seen.isr if it != 1)
    return {
        "C088": {
            "the first in the ISR that is alive leads": seen.leader == first,
            "who stands first among the assigned replicas does not matter": seen.leader
            != next(it for it in seen.assigned if it != 1),
        }
    }


def lengths(runs: Sequence[elections.Length]) -> Cases:
    heirs = [next(it for it in run.isr if it != 1) for run in runs]
    ahead = [run.ends[heir] == run.longest for run, heir in zip(runs, heirs, strict=True)]
    return {
        "C089": {
            "who stands first in the ISR has the longest log, in every run": all(ahead),
            "who is elected has the longest log, in every run": all(
                run.ends[run.leader] == run.longest for run in runs
            ),
        }
    }


def allowed(by_name: Mapping[str, bool], outsiders: Sequence[str]) -> Cases:
    return {
        "C090": {
            "a topic can be created with that setting": by_name["unclean.leader.selection.enable"],
            "with the real one true, outsiders win though a member of the ISR lives": bool(
                outsiders
            ),
        }
    }


def appointed(seen: elections.Appointed, travels: roles.Travels) -> Cases:
    followers = [it for it in seen.messages if it.source in seen.followers]
    told = [it for it in seen.messages if it.source == "zookeeper" and it.says("changed: ")]
    orders = {it.target for it in seen.by(seen.controller, "LeaderAndIsr ")}
    metadata = {it.target for it in seen.by(seen.controller, "UpdateMetadata")}
    return {
        "C087": {
            "a follower writes to ZooKeeper who leads": any(
                it.target == "zookeeper" for it in followers
            ),
            "a follower asks for anything before the controller has spoken": bool(
                [it for it in followers if it.at <= seen.by(seen.controller, "LeaderAndIsr ")[0].at]
            ),
        },
        "C097": {
            "ZooKeeper tells the controller, which watches, that a broker is gone": bool(told)
            and {it.target for it in told} == {seen.controller},
            "the others learn of the new leader from ZooKeeper": not orders >= set(seen.followers)
            or any(it.target in seen.followers for it in told),
        },
        "C099": {
            "a broker has its metadata from a read of its own in ZooKeeper": not metadata
            >= set(seen.followers)
            or any(it.target == "zookeeper" for it in followers),
            "a client asks a broker who leads, and never ZooKeeper": travels.first == "METADATA"
            and not travels.zookeeper,
        },
    }


def three(seen: elections.Three) -> Cases:
    decided = seen.decided
    return {
        "C086": {
            "when the controller dies another broker is it, the first at ZooKeeper": decided[
                "controller"
            ]
            == "zookeeper",
            "when a leader dies the controller names another": decided["partition"] == "1",
            "when a group's leader goes the coordinator names another": decided["group"]
            == "coordinator",
        }
    }


def race(runs: Any, duties: controller.Duties) -> Cases:
    return {
        "C072": {
            "one broker is the controller, in each run": all(
                it in (1, 2, 3) for it in runs.column("controller")
            ),
            "nobody else sends LeaderAndIsr or UpdateMetadata": all(
                it.senders == {duties.controller} for it in duties.reactions
            ),
        },
        "C073": {
            "whose request to create the node arrives first, is it": all(
                int(row[1][0]) == row[2] for row in runs
            ),
            "brokers that start together try together": any(len(row[1]) > 1 for row in runs),
            "who comes later finds the node, and leaves it alone": not any(
                runs.column("4 tried too")
            ),
        },
    }


def failover(seen: office.Failover, dies: herd.Cost) -> Cases:
    return {
        "C074": {
            "the node goes with the session of the dead, not before": seen.held,
            "then another broker has it": seen.next not in (-1, seen.dead),
            "all that are left notice at once, and compete": dies.hearers == dies.tried == 3,
        }
    }


def terms(headless: controller.Headless, failures: controller.Failures) -> Cases:
    return {
        "C075": {
            "where the dead broker led, another leads": failures.leader == failures.led,
            "where it did not, nothing changes": failures.bystander == 0,
            "every broker that is left is told": failures.told,
        },
        "C076": {
            "without a controller nobody replaces a leader that dies": headless.orphan_waits,
            "first there is a controller, then orders and leaders": headless.order[0].startswith(
                "create /controller"
            ),
            "then that partition is led again": headless.orphan_led,
        },
    }


EVERYBODY = {"1", "2", "3", "4"}
WATCHED = ("/brokers/ids", "/brokers/topics", "/admin/delete_topics", "/brokers/topics/orders")


def news(
    messages: Sequence[Message], seen: controller.Duties, takeovers: Sequence[controller.Takeover]
) -> Cases:
    told = {it.target for it in messages if it.says("UpdateMetadata")}
    few, many = takeovers
    kinds = ("brokers", "topics and their replicas")
    reads_all = many.reads["who leads, who is in sync"] == many.partitions
    claims = {
        "C077": {
            "after a change of the ISR every broker is told by the controller": told == EVERYBODY
        },
        "C080": {
            "a new controller reads brokers, topics and every partition's state": reads_all
            and all(few.reads[kind] > 0 for kind in kinds),
            "what it then tells is what stands in ZooKeeper": few.agrees and many.agrees,
            "the more partitions, the more it reads": many.total > few.total,
        },
    }
    return dict(sorted((claims | _changes(seen) | {"C085": _duties(seen)}).items()))


LISTENERS = (
    *("BrokerChangeListener", "TopicChangeListener", "TopicDeletionListener"),
    "PartitionModificationsListener",
)


def _code() -> str:
    """The controller's own."""
    folder = Path(engine.controller.__file__).parent
    return "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))


def _changes(seen: controller.Duties) -> dict[str, dict[str, bool]]:
    grown = {it.change: it for it in seen.reactions}["it gets two more partitions"].said
    heard, told = seen.hearers, {to for kind, to in grown if kind == "UpdateMetadata"}
    from_it = [any(kind == "UpdateMetadata" for kind, _ in it.said) for it in seen.reactions]
    leads = any(kind == "LeaderAndIsr" for kind, _ in grown)
    return {
        "C078": {
            "the controller tells the replicas of new partitions": leads,
            "and every broker of their leaders": told == EVERYBODY,
        },
        "C079": {
            f"a change of {path} is told to the controller, and to nobody else": heard.get(path)
            == {seen.controller}
            for path in WATCHED
        }
        | {"a listener of the article's name is there": any(name in _code() for name in LISTENERS)},
        "C081": {
            "after each change all brokers tell clients the same": all(seen.same_metadata),
            "they have it from the controller": all(from_it),
        },
    }


def _duties(seen: controller.Duties) -> dict[str, bool]:
    by_change = {it.change: it for it in seen.reactions}
    died = by_change["the leader of orders-0 dies"].wrote
    joined = by_change["broker 5 joins"].said
    topics = ("a topic is created", "the topic is deleted")
    return {
        "topics: it makes them, and takes them away": all(by_change[it].said for it in topics),
        "partitions: it adds them": bool(by_change["it gets two more partitions"].wrote),
        "elections: it names a leader": any("leader=3" in it for it in died),
        "members: it takes in a new broker": ("UpdateMetadata", "5") in joined,
        "metadata: it tells everybody": all(seen.same_metadata),
    }


def crowds(ours: herd.Cost, theirs: herd.Cost, queue: herd.Cost, dies: herd.Cost) -> Cases:
    return {
        "C082": {
            "one request carries the news of many partitions": ours.requests < herd.PARTITIONS,
            "by ZooKeeper there would be a notice for each, and for each broker": queue.woken
            >= 10 * (ours.requests + ours.woken),
        },
        "C084": {
            "the death of a leader wakes one broker, not every replica": ours.hearers == 1
            and theirs.woken >= 10 * ours.woken,
            "the death of the controller wakes one broker too": dies.hearers == 1,
        },
    }


def zombie(seen: office.Zombie) -> Cases:
    return {
        "C083": {
            "each new controller has a higher epoch": seen.epochs[1] > seen.epochs[0],
            "orders in an older epoch are refused": seen.refused == 11,
            "who has slept too long resigns, and one is left": seen.resigned
            and seen.controllers == 1,
        }
    }


def kept(seen: tree.Tree) -> Cases:
    brokers = {f"/brokers/ids/{number}" for number in (1, 2, 3)}
    states = [path for path in seen.paths if path.endswith("/state")]
    return {
        "C093": {
            "brokers stand there": brokers <= seen.paths,
            "so do topics and their leaders": bool(states),
            "so do configurations": any(it.startswith("/config/topics/") for it in seen.paths),
            "so does the controller": seen.has("/controller"),
        },
        "C095": {
            **{f"{path} is there": seen.has(path) for path in tree.NAMED},
            "each partition has a state node": bool(states),
            "what stands for the living goes with them": seen.ephemeral
            == brokers | {"/controller"},
        },
    }
