"""Answers to the exercises of 07_operations about listeners and lag. Try first."""


class CountTime:
    """Two conditions, and each has a counter of its own."""

    def __init__(self, count: int, seconds: float, now: float) -> None:
        self.count, self.seconds = count, seconds
        self.ready = 0  # records since the last commit
        self.last = now  # when the time caused a commit

    def processed(self) -> None:
        self.ready += 1

    def due(self, now: float) -> bool:
        if self.ready >= self.count:
            self.ready = 0
            return True
        if now - self.last > self.seconds:
            self.last, self.ready = now, 0
            return True
        return False
