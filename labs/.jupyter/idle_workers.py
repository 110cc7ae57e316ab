"""JupyterLab ends when it is told to, also on a busy machine.

Its server reads files in threads of AnyIO, which wait for more work. AnyIO ends them with the task
in which the first of them was started; if the server ends sooner, that never happens, and Python
waits for these threads for ever. `atexit` is too late for them: it comes after that wait.
"""

import threading

WORKER = "AnyIO worker thread"


def end_idle_workers() -> None:
    for thread in threading.enumerate():
        if thread.name == WORKER:
            thread.stop()  # type: ignore[attr-defined] # of AnyIO's class


def end_them_with_the_server() -> None:
    threading._register_atexit(end_idle_workers)  # type: ignore[attr-defined]
