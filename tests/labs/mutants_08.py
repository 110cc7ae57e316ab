"""Mutants of 08_speed: lines of cells that are changed, as a learner would."""

from tests.labs.mutants import Mutant

BATCH = "cluster batch-predict batch-groups batch-send"
GROUPS = f"{BATCH} batch-run batch-verdict"
SYNC = "cluster batch-predict batch-sync batch-sync-run batch-sync-verdict"
COMMIT = f"{BATCH} batch-commit batch-commit-run batch-commit-verdict"
SETTINGS = f"{BATCH} batch-commit batch-partitions batch-causes batch-fetch batch-settings-verdict"
SMALL = "cluster codec-predict codec-small codec-log codec-small-verdict"
DISK = "cluster disk-predict disk-read disk-ways disk-run"
CODEC = "codec-predict codec-data codec-run codec-bars codec-verdict"
ZERO = "cluster zero-predict zero-fill zero-ways zero-run zero-runs zero-bars"
ZERO += " zero-watched zero-broker"
FORMAT = "cluster zero-predict zero-format zero-places zero-differences zero-format-verdict"
CACHE = "cluster cache-predict cache-write cache-later"
TAIL = "cluster tail-predict tail-stream tail-measure tail-live tail-run tail-outcome tail-verdict"
MORE = "cluster more-predict more-member more-group more-run more-sent more-verdict"
PRICE = "cluster more-predict more-files more-copied more-outage more-price more-price-verdict"

MUTANTS = [
    Mutant(
        "a batch takes one record at most",
        "C238",
        GROUPS,
        [('"batch.size": 1_000_000', '"batch.size": 1')],
    ),
    Mutant(
        "eight threads that take turns",
        "C236",
        SYNC,
        [('"eight threads": 8', '"eight threads": 1')],
    ),
    Mutant(
        "a commit that is one record behind",
        "C239",
        COMMIT,
        [("consumer.commit(asynchronous=False)", "consumer.commit(found[0], asynchronous=False)")],
    ),
    Mutant(
        "batches hold one record, and a Fetch waits for one byte",
        "C240 C241",
        SETTINGS,
        [('"batch.size": 16_384', '"batch.size": 1'), ('"fetch.min.bytes": 10_000, ', "")],
    ),
    Mutant(
        "gzip is left out where it gains nothing",
        "C237",
        SMALL,
        [("len(gzip.compress(text[:size]))", "min(len(gzip.compress(text[:size])), size)")],
    ),
    Mutant(
        "memory is the disk, words are written in order, and no block is small",
        "C242 C243 C244",
        f"{DISK} disk-words disk-verdict disk-seek-verdict",
        [
            ("copy(in_order, SMALL)", "read(in_order, SMALL)"),
            ("target[places] = numbers", "target[:] = numbers"),
            ("read(at_random, SMALL)", "read(range(0, part, LARGE), LARGE)"),
        ],
    ),
    Mutant(
        "a topic is read twice, and a file at random only",
        "C245 C246",
        f"{DISK} disk-order disk-ahead disk-order-verdict",
        [
            ("values = cluster.read(topic", "values = cluster.read(topic) + cluster.read(topic"),
            ("pages_in_memory(range(0, 32 * SMALL, SMALL))", "pages_in_memory(random_places)"),
        ],
    ),
    Mutant(
        "one connection each time",
        "C249",
        "cluster select-predict select-limits select-ask select-run select-broker select-verdict",
        [("question(way, n) for", "question(way, 1) for")],
    ),
    Mutant(
        "a link that is never busy",
        "C235",
        CODEC,
        [("LINK = 10_000_000", "LINK = 10_000_000_000")],
    ),
    Mutant(
        "a link of a hundred gigabits, nothing encrypted, and every way is read and send",
        "C231 C232 C233",
        f"{ZERO} zero-small zero-verdict zero-copies-verdict zero-speed-verdict",
        [
            ("GIGABIT = 125_000_000", "GIGABIT = 12_500_000_000"),
            ('Cluster(brokers=1, security="SSL")', "Cluster(brokers=1)"),
            ('{"sendfile": with_sendfile, ', '{"sendfile": with_read_and_send, '),
        ],
    ),
    Mutant(
        "the topic keeps the codec",
        "C234",
        FORMAT,
        [('compression_type="zstd"', 'compression_type="lz4"')],
    ),
    Mutant(
        "each batch is flushed",
        "C247",
        f"{CACHE} cache-verdict",
        [("dirty = written(megabytes", "dirty = written(megabytes, flush_messages=1")],
    ),
    Mutant(
        "the pages are dropped before the second pass",
        "C248",
        f"{CACHE} cache-read cache-read-run cache-read-verdict",
        [("second = from_disk(photos)", "forget(path)\nsecond = from_disk(photos)")],
    ),
    Mutant(
        "nothing waits on purpose",
        "C230",
        TAIL,
        [('{"linger.ms": 500, "acks": 1}', '{"linger.ms": 0, "acks": 1}')],
    ),
    Mutant("a group of one", "C250", MORE, [("MEMBERS = 4", "MEMBERS = 1")]),
    Mutant(
        "one partition more, and not many",
        "C251",
        PRICE,
        [("(10, shared.many(100), shared.many(500))", "(10, 11)")],
    ),
]
