"""What brokers report through their debug servers, made by hand."""


def row(
    partition, role, leader, epoch=1, *, isr=(1, 2), end=10, committed=10, others=(), stable=None
):
    assigned, stable = [1, 2, 3], committed if stable is None else stable
    more = [0, committed, stable, end, 100 * end, 1, [list(each) for each in others]]
    return ["orders", partition, role, leader, epoch, list(isr), assigned, *more]


def state(*rows, at=0, gone=(), leaderless=(), **facts):
    answer = {
        "at": at,
        "epoch": 5,
        "session": 7,
        "controller": 1,
        "active": False,
        "controller_epoch": 1,
        "max_lag_ms": 30_000,
        "session_ms": 18_000,
        "brokers": [1, 2],
        "connections": 0,
        "tls_copied": 0,
        "quotas": [],
        "groups": None,
        "transactions": None,
    }
    return answer | facts | {"rows": rows, "gone": list(gone), "leaderless": list(leaderless)}


def group(name, *members, **facts):
    """A group, and its members as (id, share)."""
    known = {
        "partition": 7,
        "state": "Stable",
        "since": 900,
        "generation": 3,
        "protocol": "range",
        "leader": members[0][0] if members else None,
        "offsets": {},
    }
    told = [
        {"member": each, "client": "c", "host": "/h", "instance": None, "share": share}
        | {"waits": share is None}
        for each, share in members
    ]
    return {"group": name, "members": told} | known | facts


def transaction(name, *partitions, **facts):
    known = {
        "partition": 7,
        "state": "Ongoing",
        "producer_id": 4000,
        "epoch": 2,
        "updated": 900,
        "started": 800,
        "timeout": 60_000,
        "partitions": list(partitions),
        "unmarked": [],
    }
    return {"transactional_id": name} | known | facts
