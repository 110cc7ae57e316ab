"""Changes of labs that no machine can read, or whose effect it cannot see. By lab and cell:

IN_WORDS    what the comment asks for in words: a text of the cell, and what a learner writes
SAME        why nothing comes out otherwise, which is what the section has to say
NOT_TRIED   why no test tries it
"""

IN_WORDS: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {
    ("04_streams", "back-run"): (
        ("first.items())  # change me", '[*first.items(), ("Mei", 5), ("Mei", -5)])  # change me'),
    ),
    ("04_streams", "sql-queries"): (("count(*) AS cups", "max(length(guest)) AS cups"),),
    ("05_controller", "race-late"): (
        (
            "sim.add(4)  # change me",
            "for broker in (1, 2, 3):\n    sim.kill(broker)\nsim.run(seconds=25)\n"
            "sim.add(4)  # change me",
        ),
    ),
    ("05_controller", "told"): (
        (
            "changes = {  # change me",
            'changes = {\n    "the session of 1 ends": lambda: sim.expire(1),  # change me',
        ),
    ),
    ("06_sending", "partition-old"): (("available or partitions", "partitions"),),
    ("06_sending", "buffer-get"): (
        ("future.get(timeout=1)", "cluster.resume(1)\n        future.get(timeout=1)"),
    ),
    ("08_speed", "cache-read-run"): (
        ("file.fileno(), 4096", "file.fileno(), 400_000"),
        ("second = from_disk(photos)", "forget(path)\nsecond = from_disk(photos)"),
    ),
    ("09_operations", "lag-tools"): (
        ("case.run(line)", 'case.run(line + " --members --verbose")'),
    ),
    ("10_kraft", "wake"): (
        ("cluster.resume(leader)", "cluster.kill(leader)\n    cluster.restart(leader)"),
    ),
}

SAME = {
    ("01_storage", "failover"): "a broker that stops in an orderly way leaves the same records",
    ("01_storage", "torn"): "what is torn is cut off, wherever it is torn",
    ("03_rebalance", "coordinator-fallen"): "the next coordinator counts each session anew",
    ("04_streams", "back-run"): "another stream makes the same table",
}

NOT_TRIED = {
    ("articles", "peers-record"): "it needs a measurement of one's own: make peers",
}
