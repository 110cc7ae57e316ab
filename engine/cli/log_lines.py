"""What a broker and a controller log: a line for each event, on standard error.

    2026-03-01 12:00:00,123 INFO controller.elected {'broker': 101, 'epoch': 1}

Invariant: text from clients may appear in a log, but never as a line of its own, and not by
megabytes.
"""

import logging

LONGEST = 2000  # characters of a line


class OneLine(logging.Formatter):
    """Formats an event as one line: what can't be printed, and a line's end, is an escape."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        line = super().formatMessage(record)[:LONGEST]
        if line.isprintable():
            return line
        return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in line)


def log_lines() -> None:
    """From now on this process logs a line for each event, on standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(OneLine("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
