"""Work beside the cells of a notebook: in threads, or where there are none, in the kernel's loop.

    keep(looks, wake, "...")        a generator that yields the seconds until its next turn
    once(work, facts, "...")        something slow, such as a restart

A browser tab has no threads: there the generator takes its turns in the kernel's loop, between the
cells and the messages of the page, and slow work is done before `once` returns.
"""

import asyncio
import threading
from collections.abc import Callable, Generator

from engine.browser import IN_BROWSER

Looks = Generator[float, None, None]

_turns: set[asyncio.Task[None]] = set()  # that go on; the loop itself keeps no task alive


def keep(looks: Looks, wake: threading.Event, name: str) -> None:
    """Run the generator to its end. It has its next turn early when `wake` is set."""
    if IN_BROWSER:
        turn = asyncio.get_event_loop().create_task(_in_turns(looks), name=name)
        _turns.add(turn)
        turn.add_done_callback(_turns.discard)
    else:
        threading.Thread(target=_run, args=(looks, wake), name=name, daemon=True).start()


def once(work: Callable[..., object], *facts: object) -> None:
    if IN_BROWSER:
        work(*facts)
    else:
        threading.Thread(target=work, args=facts, daemon=True).start()


def _run(looks: Looks, wake: threading.Event) -> None:
    for pause_s in looks:
        wake.wait(pause_s)


async def _in_turns(looks: Looks) -> None:
    for pause_s in looks:
        await asyncio.sleep(pause_s)
