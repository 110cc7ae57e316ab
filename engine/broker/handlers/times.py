"""Times as the schemas have them: aware datetimes, and None for "no time" (-1)."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_time(milliseconds: int) -> datetime | None:
    return None if milliseconds < 0 else _EPOCH + timedelta(milliseconds=milliseconds)
