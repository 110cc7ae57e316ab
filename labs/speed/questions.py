"""The predictions of 08_speed. Read it after you have made yours.

Each question has a function beside it that says, from what was measured, which answer came true.
"""

from collections.abc import Mapping

from widgets import Predict

SAME, TWICE, MANY = "About the same", "Twice as fast", "Many times as fast"


def one_by_one() -> Predict:
    return Predict(
        "The same 5,000 records: each alone, or in groups of a thousand. How much faster are the "
        "groups?",
        {
            SAME: "The bytes are nearly the same, but each request has its own price.",
            TWICE: "A request costs more than the record in it, by far.",
            MANY: "A request has its price whether it carries one record or a thousand.",
        },
        hint="How many times does the producer wait for an answer?",
    )


def gained(ratio: float) -> str:
    return SAME if ratio < 1.5 else TWICE if ratio < 3 else MANY


SMALLER, EQUAL, LARGER = "Fewer than 50 bytes", "About 50 bytes", "More than 50 bytes"


def fifty_bytes() -> Predict:
    return Predict(
        "The first 50 bytes of a log line are compressed with gzip. How many bytes does that make?",
        {
            SMALLER: "There is nothing in them that comes twice.",
            EQUAL: "gzip's header and trailer alone take 18 bytes.",
            LARGER: "Header and trailer take 18 bytes, and 50 bytes have little to share.",
        },
        hint="What does a reader need to know before the first byte, and after the last?",
    )


def grown(size: int) -> str:
    return SMALLER if size < 45 else EQUAL if size < 55 else LARGER


NO_LESS, A_PART, NOTHING = "As much as with read and send", "Less", "None: DMA does all of it"


def cpu_of_sendfile() -> Predict:
    return Predict(
        "A file goes to a socket with sendfile. How much CPU time does the sender need?",
        {
            NO_LESS: "Two copies of each byte are spared, and the change between them.",
            A_PART: "No copy, but the CPU still passes pages, and runs the protocol.",
            NOTHING: "DMA moves bytes between memory and a device. Who tells it which?",
        },
        hint="Who runs TCP?",
    )


def spared(ratio: float) -> str:
    return NO_LESS if ratio < 1.1 else A_PART


ALL_OF_IT, HALF, HARDLY_ANY = "All of it", "About half", "Little or nothing"


def on_disk() -> Predict:
    return Predict(
        "A producer sends 16 MB with acks=all and has all its answers. How much of it is on the "
        "broker's disk?",
        {
            ALL_OF_IT: "Only if the broker calls fsync before it answers, and it does not.",
            HALF: "The kernel may have begun to write, but nobody waits for it.",
            HARDLY_ANY: "The answers say: it is in the page cache. The disk comes later.",
        },
        hint="acks=all counts replicas. Does it count disks?",
    )


def was_on_disk(dirty: float) -> str:
    return HARDLY_ANY if dirty > 0.7 else HALF if dirty > 0.3 else ALL_OF_IT


LINGERING, FLUSHING, NEIGHBOUR = "linger.ms=500", "flush.messages=1", "The busy neighbour"


def slowest() -> Predict:
    return Predict(
        "Half of the records take longer than the median. Which of these has the largest median?",
        {
            LINGERING: "Each record may wait 500 ms for others: the stream is too thin to fill a "
            "batch.",
            FLUSHING: "An fsync takes about a millisecond on a solid-state disk, and ten on a disk "
            "that turns. Where it takes longer than the 20 ms between two records, they queue up.",
            NEIGHBOUR: "Large records take the broker's time, but only some milliseconds each.",
        },
        hint="Which of them waits on purpose?",
    )


def was_slowest(halves: Mapping[str, float]) -> str:
    """`halves`: the median of each way."""
    ways = {"linger.ms=500, acks=1": LINGERING, "flush.messages=1": FLUSHING}
    ways["a busy neighbour"] = NEIGHBOUR
    return ways[max(ways, key=lambda name: halves[name])]


LIKE_MEMORY, TENTH_OF_IT, FAR_SLOWER = "About as fast", "Half to a tenth", "Far slower still"


def beside_memory() -> Predict:
    return Predict(
        "A file is read in order, in blocks of 1 MB, past the page cache. How fast is that, "
        "compared with a copy in memory?",
        {
            LIKE_MEMORY: "So it looks while a page cache answers in the disk's place, "
            "here or on the host of a virtual machine.",
            TENTH_OF_IT: "A modern disk gives gigabytes a second, and memory gives more.",
            FAR_SLOWER: "So it is with disks that turn, and with many disks in a cloud.",
        },
        hint="What answers the second time that you read a file?",
    )


def memory_was(ratio: float) -> str:
    return LIKE_MEMORY if ratio < 2 else TENTH_OF_IT if ratio < 12 else FAR_SLOWER


ALIKE, SOME, HUNDREDS = "About the same", "Up to ten times", "More than ten times"


def of_a_thousand() -> Predict:
    return Predict(
        "A thousand connections, one of them speaks. How much more CPU time does one question "
        "with poll take than with epoll?",
        {
            ALIKE: "The answer is the same, but poll gives the kernel a list of a thousand first.",
            SOME: "With a hundred connections it is so.",
            HUNDREDS: "poll's price is for each connection, epoll's for each that speaks.",
        },
        hint="Who keeps the list?",
    )


def times_epoll(ratio: float) -> str:
    return ALIKE if ratio < 2 else SOME if ratio < 10 else HUNDREDS


AS_MANY, FOURFOLD, MANYFOLD = "About as many", "About four times as many", "More than ten times"


def of_more_partitions() -> Predict:
    return Predict(
        "A group has four readers; each order keeps a reader busy for 20 ms. How many orders a "
        "second does the group handle with 128 partitions, compared with one?",
        {
            AS_MANY: "So it is if the group has one reader.",
            FOURFOLD: "Four readers work at once, and with four partitions they do so, too.",
            MANYFOLD: "For that the group would need more readers.",
        },
        hint="How many readers can read one partition? And how many readers are there?",
    )


def more_were(ratio: float, members: int) -> str | None:
    """What 128 partitions bring, compared with one; None if there are not four members."""
    if ratio < 1.5:
        return AS_MANY
    return MANYFOLD if ratio >= 10 else FOURFOLD if members == 4 else None
