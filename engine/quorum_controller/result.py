"""What a controller has decided: records to append, and the response once they are committed."""

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

R = TypeVar("R")


class ControllerResult(NamedTuple, Generic[R]):
    records: Sequence[Any]  # one batch: a majority has all of them, or none
    response: R
