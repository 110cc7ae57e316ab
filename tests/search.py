"""How many examples hypothesis tries: `make long` all of them, `make test` a part (conftest.py)."""

from hypothesis import settings


def examples(number: int) -> settings:
    """So many in `make long`, where a test that names no number has Hypothesis' own hundred."""
    usual = settings()
    return settings(usual, max_examples=max(1, number * usual.max_examples // 100))
