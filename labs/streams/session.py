"""Spark, once for the notebook: a picture tells how far it is while it starts.

    starting = session.starting()      the picture
    spark = starting.spark()           starts it, unless it runs; tells of a Java that is missing

It starts in the kernel's own thread, since Spark knows by the thread which session is meant. What
is set, and why, stands in sparkstreams/session.py.
"""

from typing import TYPE_CHECKING

from widgets.scene import Scene, text, wrap
from widgets.stage import SceneWidget

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MEMORY = "512m"  # the heap; with it the whole lab stays under 1.6 GB
LINE = 20
LINES = 5

_known: list["Starting"] = []


class Starting(SceneWidget):
    """What it does just now, line by line."""

    def __init__(self) -> None:
        super().__init__(name="Spark", about="one session for this notebook")
        self._told: list[str] = []
        self._spark: SparkSession | None = None
        self._say("not started yet: the next cell does that, and it takes a while")

    def look(self) -> bool:
        """Lines come by themselves; there is nothing to ask for."""
        return False

    def spark(self) -> "SparkSession":
        """The session that runs, or a new one; a query that was left running is stopped."""
        if self._spark is None or self._spark.sparkContext._jsc.sc().isStopped():
            self._spark = self._start()
        for query in self._spark.streams.active:
            query.stop()
        return self._spark

    def _start(self) -> "SparkSession":
        from sparkstreams import session  # noqa: PLC0415  (only who wants Spark waits for it)

        self._told.clear()  # "not started yet"
        try:
            return session.start("04_streams", memory=MEMORY, say=self._say)
        except Exception as error:
            self._say(str(error))
            raise

    def _say(self, words: str) -> None:
        self._told.append(words)
        self.draw()

    def draw(self) -> None:
        told = self._told[-LINES:]
        lines = [
            ("head" if place else "soft", part)
            for place, words in enumerate(told)
            for part in wrap(words, self.width - 32, 14)
        ]
        shapes = [
            text(str(place), 16, 28 + LINE * place, part, look=look)
            for place, (look, part) in enumerate(lines)
        ]
        height = 20 + LINE * max(LINES, len(lines))
        self.show(Scene(self.width, height, shapes, title="Spark starts", says=told[-1]))


def starting() -> Starting:
    """The one of this notebook."""
    if not _known:
        _known.append(Starting())
    return _known[0]
