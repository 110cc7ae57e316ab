"""The lock of a client: an interrupt (Control-C, a notebook's stop button) never leaves it taken.

`with lock:` is two steps, "take it" and "from here on, release it at the end". An interrupt is an
exception that the main thread raises between any two steps of the program:

    Python 3.11 to 3.13     never between these two, if the lock is one in C
    from Python 3.14 on     also between them: the lock stays taken, and the client's thread, which
                            sends heartbeats and reads answers, waits for it for ever

So the first step, `__enter__`, gives the lock back if it is interrupted. `__exit__` has to stay
RLock's own, in C: in a function in Python the interrupt could come before the lock is released.
"""

from _thread import RLock


class ClientLock(RLock):  # type: ignore[misc]  # final for mypy, not for Python
    def __enter__(self) -> bool:  # type: ignore[override]
        try:
            return self.acquire()
        except BaseException:
            if self._is_owned():  # type: ignore[attr-defined]  # as threading.Condition asks it
                self.release()
            raise
