"""Each claim's cases about a partition: what must be so if the claim is true, and whether it was.

    ledger.decide(**verdicts.copies(place))

A function takes what the section's experiments returned, and gives the cases of its claims. What
the ledger expects is not known here. The claims about the controller stand in rulings.py.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from replication import acks, five, insync, marks, roles, truncation, unclean

Cases: TypeAlias = Mapping[str, Mapping[str, bool]]


def machines(seen: roles.Machines) -> Cases:
    return {
        "C287": {
            "each broker is a service, with an id, a port and a directory": seen.processes == 3,
            "together they are one cluster, with one id": seen.cluster_ids == 1,
            "each broker is a host of its own": seen.hosts == 3,
        }
    }


def copies(seen: roles.Place) -> Cases:
    before, after = seen.isr
    return {
        "C042": {
            "every replica has the same bytes": seen.same_bytes,
            "the topic's node lists the replicas of each partition": seen.assigned[0] == (1, 2, 3),
            "with one broker dead every record is still read": seen.found == roles.MESSAGES,
        },
        "C047": {
            "the assigned replicas are all that the partition has": len(seen.assigned[0]) == 3,
            "they stay the same when a broker dies": seen.assigned[0] == seen.assigned[1],
            "the ISR is a part of them, and it shrinks": set(after)
            < set(before)
            <= set(seen.assigned[0]),
        },
        "C094": {
            "the state node names the leader": seen.leader[0] in before,
            "after the leader's death it names another": seen.leader[1] in after,
            "and its leader epoch has grown": seen.epoch[1] > seen.epoch[0],
        },
    }


def travels(seen: roles.Travels) -> Cases:
    return {
        "C053": {
            "the producer connects to ZooKeeper": seen.zookeeper,
            "it finds the leader without asking a broker for metadata": seen.first != "METADATA",
        },
        "C071": {
            "one address is enough to write to the whole topic": seen.served == seen.leaders,
            "one broker serves this client all it wants, as a single node would": len(seen.served)
            == 1,
        },
    }


def answers(seen: roles.Answers, stale: marks.Stale) -> Cases:
    followers = {1, 2, 3} - {seen.leader}
    return {
        "C043": {
            "only the leader takes records": seen.takes == {seen.leader},
            "before version 11 of Fetch only the leader serves readers": seen.serves[10]
            == {seen.leader},
            "from version 11 on no follower serves a reader": not followers & seen.serves[11],
            "a leader never sends a reader to a follower": stale.referred == -1,
        },
        "C044": {
            "a record that a follower is sent gets into the log": seen.grew,
            "a Fetch 10 to a follower is answered with the leader's records": bool(
                followers & seen.serves[10]
            ),
            "a Fetch 11 is answered by way of the leader alone": not seen.cut_off,
        },
        "C052": {
            "a follower has less to show than its leader, for a moment": len(stale.follower)
            < len(stale.leader),
            "no follower serves readers": not followers & seen.serves[11],
        },
    }


def pulling(seen: roles.Pulling) -> Cases:
    grew = {row[0]: row[1] for row in seen.sizes}
    return {
        "C045": {
            "the leader sends its followers requests about the partition": bool(seen.to_followers),
            "a follower gets records with nothing but a request of the leader": "FETCH"
            not in seen.to_leader,
        },
        "C046": {
            "followers ask the leader, as consumers do, with Fetch": seen.to_leader == {"FETCH"},
            "the log of a follower that sleeps does not grow": not grew["follower, asleep"],
            "the leader's does meanwhile": grew["leader"],
            "awake again it gets all it lacks": all(seen.sizes.column("has all in the end")),
        },
    }


def one_record(seen: marks.One) -> Cases:
    by_follower = seen.said("2", "3")
    return {
        "C054": {
            "the producer speaks to the leader alone": {it.target for it in seen.said("client")}
            == {"1"},
            "the leader has it before any follower": seen.leader_has < seen.followers_have,
        },
        "C055": {
            "a follower sends something that is no Fetch": not all(
                it.says("Fetch") and it.target == "1"
                for it in by_follower
                if it.target != "zookeeper"
            ),
            "the leader commits before a Fetch asks for what comes next": seen.committed
            < min(it.at for it in by_follower if it.text.endswith("from 2")),
        },
    }


def answered(by_acks: Any) -> Cases:
    rows = {row[0]: row[1:] for row in by_acks}
    return {
        "C056": {
            "the HW moves once all in sync have the record": all(
                it[3] > it[2] for it in rows.values()
            ),
            "with acks=all the producer hears after that": rows["all"][1] >= rows["all"][3],
            "with acks=1 too": rows[1][1] >= rows[1][3],
            "with acks=0 too": rows[0][1] >= rows[0][3],
        }
    }


def ten(high_watermark: int, at_mark: Sequence[str]) -> Cases:
    return {
        "C057": {
            "with the offsets 0 to 9 committed the HW is 9": high_watermark == 9,
            "there is a committed record at the HW": bool(at_mark),
        }
    }


def held_back(seen: marks.Held, unseen: marks.Unseen) -> Cases:
    return {
        "C058": {"at each step the HW is the smallest LEO of the ISR": seen.always_least},
        "C059": {
            "a record that only the leader has is not shown": "b" not in unseen.before,
            "once all in sync have it, it is": "b" in unseen.after,
        },
        "C060": {
            "a follower's HW moves after the leader's, each time": seen.one_round_later,
            "it is never above the leader's HW or its own LEO": seen.never_ahead,
        },
        "C062": {
            "the leader gives followers what it shows to no consumer": bool(unseen.on_the_way)
            and "b" not in unseen.before
        },
    }


def in_sync(seen: insync.Sleep, out: insync.Departures, held: marks.Held) -> Cases:
    before, during, after = seen.isr
    return {
        "C049": {
            "a follower that sleeps under load is removed": seen.sleeper in before
            and seen.sleeper not in during,
            "never before the limit is over": min(out.limits) >= 1,
            "and soon after it": max(out.limits) <= 1.6,
            "it comes back once it has caught up": seen.sleeper in after,
        },
        "C051": {
            "what is committed is in every member's log": held.below_on_all,
            "a replica that lags too far is no member": seen.sleeper not in during,
            "a member has all that its leader has, at any moment": not held.lagged_inside,
        },
    }


def heirs(seen: insync.Heir, links: insync.Links) -> Cases:
    return {
        "C048": {
            "the replica outside the ISR does not lead next, though it stands first": seen.leader
            != seen.outside,
            "a member does": seen.leader in seen.isr,
            "and it has all that was acknowledged": seen.kept,
        },
        "C050": {
            "cut off from the leader a replica is out, by the leader's word": links.by[0]
            == "leader",
            "cut off from ZooKeeper too, by the controller's": links.by[1] == "controller",
            "neither returns before its link does": not any(links.returned),
            "a break shorter than the limits does no harm": links.short,
        },
    }


def waiting(seen: insync.Waiting, pace: acks.Pace) -> Cases:
    return {
        "C064": {
            "a commit waits for a member that is silent: not purely asynchronous": seen.first
            > 10 * seen.one,
            "but only until that has left the ISR: not fully synchronous": seen.first <= seen.out
            and seen.later < seen.first / 10,
        },
        "C065": {
            "one slow follower in the ISR makes every record wait": pace.slow > 10 * pace.near,
            "once it has left nobody waits for it": pace.left < 2 * pace.near,
        },
    }


def crashed(seen: acks.Crash) -> Cases:
    rows = {row[0]: row[1:] for row in seen.table}
    return {
        "C066": {
            "with acks=1 records count as stored that only the leader has": rows["1"][0] > 0,
            "when it dies they are lost": seen.lost["1"] == rows["1"][0],
            "when it comes back it cuts them off itself": bool(seen.truncated),
        }
    }


def survivors(table: Any, copies: Any) -> Cases:
    lost = {(row[0], row[1]): (row[3], row[5]) for row in table}
    one, _, three = copies
    return {
        "C068": {
            "acks=1: all that was acknowledged survives": lost["1", 1] == (0, 0),
            "acks=all, and one in sync may do: all survives": lost["all", 1] == (0, 0),
            "acks=all, and two must be in sync: all survives": lost["all", 2] == (0, 0),
        },
        "C069": {
            "three replicas take three times the disk of one": three[1] == 3 * one[1],
            "with acks=all the producer waits longer for three than for one": three[3] > one[3],
            "with acks=1 too": three[2] > one[2],
        },
    }


def least(table: Any, pace: acks.Pace, survived: Any) -> Cases:
    codes = {row[0]: row[1:] for row in table}
    lost = {(row[0], row[1]): row[5] for row in survived}
    return {
        "C067": {
            "a slow replica costs each record time, until it is out": pace.slow
            > pace.near
            >= pace.left / 2,
            "with one in sync writing goes on, if that is enough": codes[1][0] == "none",
            "then all rests on that one": lost["all", 1] > 0,
            "if two must be in sync nothing is lost": lost["all", 2] == 0,
            "and with one in sync nothing is taken": codes[1][1] != "none",
        }
    }


def choices(seen: unclean.Choices) -> Cases:
    full = 10 + unclean.MISSED
    return {
        "C091": {
            "while only a replica from outside the ISR is back nobody leads": seen.waits.leader
            == -1,
            "when a member of the ISR is back, no record is missing": seen.waits.kept == full,
        },
        "C092": {
            "the replica from outside the ISR leads as soon as it is back": seen.takes.leader
            == seen.lagging
            and seen.outside,
            "what it had missed is lost, acknowledged or not": seen.takes.kept
            == full - unclean.MISSED,
            "the others cut it off when they come back": seen.takes.cut == unclean.MISSED,
        },
    }


def read_back(clean: Sequence[unclean.ReadBack], uncleanly: unclean.ReadBack) -> Cases:
    return {
        "C061": {
            "after a clean election all that was read is there, in each run": all(
                it.same and it.clean for it in clean
            ),
            "after an unclean election too": uncleanly.same,
        }
    }


def truncated(lost: truncation.Both, split: truncation.Both, held: marks.Held) -> Cases:
    old, new = truncation.VERSIONS
    return {
        "C063": {
            "followers learn by the HW how far is committed": held.one_round_later,
            "a follower that is cut to it keeps what is committed": not lost.lost(old),
            "replicas that are cut to it end up the same": not split.differ(old),
            "cut by leader epoch they do, and keep it": not (lost.lost(new) or split.differ(new)),
        }
    }


def five_brokers(at_once: five.Five, in_turn: five.Five) -> Cases:
    def works(factor: int, least: int) -> bool:
        return not (at_once.refused(factor, least) or in_turn.refused(factor, least))

    return {
        "C070": {
            "three replicas, one in sync is enough": works(3, 1),
            "three replicas, two must be in sync": works(3, 2),
            "two replicas, one in sync is enough": works(2, 1),
            "one replica": works(1, 1),
        }
    }
