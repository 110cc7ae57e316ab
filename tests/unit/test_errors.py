"""Errors cross the borders of processes: the simulator's workers, Spark's."""

import pickle

from engine.errors import ApiException, ErrorCode


def test_an_error_is_the_same_in_another_process() -> None:
    error = ApiException(ErrorCode.invalid_record, "two of them have no key")
    error.records = {3: "no key"}
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.code, copy.message, str(copy)) == (error.code, error.message, error.message)
    assert copy.records == {3: "no key"}
