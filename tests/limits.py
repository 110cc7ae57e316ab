"""How long a test waits, and how long a machine may stand still meanwhile.

One number decides: BEARABLE_S. A machine that stands still for so long fails no test; if it stands
still for longer, the test is run again (tests/standstill.py). Sessions are long enough to bear it,
and waits are many times as long, because a busy machine is slow: only what hangs reaches them.
"""

BEARABLE_S = 1.0

# A client sends a heartbeat in each third of its session: two thirds remain for a standstill. The
# values are of zookeeper.session.timeout.ms.
SESSION_S = 2 * BEARABLE_S  # the shortest of a broker: a test waits until it is over
SESSION_MS = f"{1000 * SESSION_S:.0f}"
WIDE_SESSION_MS = f"{4000 * BEARABLE_S:.0f}"  # a broker that is well never loses it
CALM_SESSION_MS = f"{6000 * BEARABLE_S:.0f}"  # the same, beside several JVMs
JVM_SESSION_MS = f"{15_000 * BEARABLE_S:.0f}"  # of Kafka's own brokers, whose JVM pauses, too
ENDLESS_SESSION_MS = f"{120_000 * BEARABLE_S:.0f}"  # where no session ends before the test does

ANSWER_S = 20 * BEARABLE_S  # for a single request
CHANGE_S = 30 * BEARABLE_S  # until processes have noticed something, and acted
START_S = 60 * BEARABLE_S  # until processes have started, or have read what they had
JVM_S = 120 * BEARABLE_S  # until a JVM other than ZooKeeper's has started, or has acted
CELL_S = 300 * BEARABLE_S  # for a cell of a notebook, while thirty others run theirs
SPARK_S = 600 * BEARABLE_S  # until Spark has come to a certain batch
