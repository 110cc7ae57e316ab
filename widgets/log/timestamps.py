"""Dates as text, and the milliseconds since 1970 that are in a log. All in UTC.

1700000000000               as it is in the log
2023-11-14 22:13:20.5       with a T or a blank, with or without seconds
22:13                       on the day of the newest record
"""

from datetime import UTC, datetime, time

from engine.errors import ApiException, ErrorCode


def moment(milliseconds: int) -> str:
    """A timestamp as a date, UTC; a number that is no possible date stays a number."""
    try:
        at = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return str(milliseconds)
    return "none" if milliseconds == -1 else f"{at:%Y-%m-%d %H:%M:%S}.{milliseconds % 1000:03d}"


def parse(said: str, newest: int) -> int:
    """`newest`: a time without a date is on the day of this timestamp."""
    said = said.strip()
    if said.lstrip("-").isdigit() and len(said) > 5:
        return int(said)
    try:
        if ":" in said and "-" not in said:
            day = datetime.fromtimestamp(max(newest, 0) / 1000, UTC)
            return _milliseconds(datetime.combine(day, time.fromisoformat(said.zfill(5))))
        return _milliseconds(datetime.fromisoformat(said))
    except ValueError as error:
        raise ApiException(
            ErrorCode.invalid_timestamp,
            f"{said!r} is no time: write 12:30:00, 2026-01-31 12:30:00, or milliseconds since 1970",
        ) from error


def _milliseconds(at: datetime) -> int:
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return round(at.timestamp() * 1000)
