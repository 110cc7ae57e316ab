"""What a kernel does not say in the terminal: that nobody hears it after it was shut down.

    Ctrl-C in `make lab` ──> the kernel's sockets are closed ──> the cell that ran is interrupted
                                                              ──> its reply: ZMQError ENOTSOCK

The reply has nowhere to go, and the traceback tells a learner nothing.

Invariant: every other error is logged.
"""

import errno
import logging
from typing import Any

ZMQ = "zmq"  # the package; a kernel in a browser has none


def told(record: logging.LogRecord) -> bool:
    """Whether it is logged: all but what was sent to a closed socket."""
    error = record.exc_info[1] if record.exc_info else None
    of_zmq = type(error).__module__.partition(".")[0] == ZMQ
    return not (of_zmq and getattr(error, "errno", None) == errno.ENOTSOCK)


def attach(shell: Any) -> None:
    if hasattr(shell, "kernel"):  # a shell in a terminal has none
        shell.kernel.log.addFilter(told)
