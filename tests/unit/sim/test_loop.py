"""asyncio on the virtual clock: what a broker's shell relies on, and what a crash leaves."""

import asyncio

import pytest

from engine.sim.clock import Clock
from engine.sim.network import Network
from engine.sim.process import SimulatedProcess


class Machine:
    """A process with a loop, and what its tasks write down."""

    def __init__(self):
        self.clock = Clock()
        self.process = SimulatedProcess(self.clock, Network(self.clock, None), "here")
        self.process.start_loop()
        self.story = []

    def note(self, what):
        self.story.append((self.clock.now, what))

    def spawn(self, *works):
        for work in works:
            self.process.do(self.process.spawn, work)

    async def sleep(self, name, seconds):
        await asyncio.sleep(seconds)
        self.note(name)

    async def holds(self, resource):
        try:
            await asyncio.Event().wait()
        finally:
            self.note(f"gave back {resource}")


@pytest.fixture
def machine():
    return Machine()


def test_tasks_wake_in_their_order_and_a_step_takes_no_time(machine):
    machine.spawn(machine.sleep("a", 0.03), machine.sleep("b", 0.01), machine.sleep("c", 0.01))
    machine.spawn(machine.sleep("now", 0))
    machine.clock.run_until(100)
    assert machine.story == [(0, "now"), (10, "b"), (10, "c"), (30, "a")]


def test_what_waits_too_long_is_told_so_and_what_waits_for_ever_is_no_timer(machine):
    async def story():
        for patience in (0.25, float("inf")):
            try:
                async with asyncio.timeout(patience):
                    await machine.sleep("there", 0.5)
            except TimeoutError:
                machine.note("too late")

    machine.spawn(story())
    machine.clock.run_until(10_000)
    assert machine.story == [(250, "too late"), (750, "there")]
    assert machine.clock.due() is None


def test_a_paused_process_is_not_stepped_and_goes_on_where_it_was(machine):
    machine.spawn(machine.sleep("a", 0.01))
    machine.process.pause()
    machine.clock.run_until(5000)
    assert machine.story == []
    machine.process.resume()
    assert machine.story == [(5000, "a")]


def test_a_timer_that_waits_in_a_paused_process_can_still_be_cancelled(machine):
    """The answer came in time, before the alarm; the process sees both at once."""
    answer = []

    async def story():
        answer.append(asyncio.get_running_loop().create_future())
        async with asyncio.timeout(1):
            await answer[0]
        machine.note("answered")

    machine.spawn(story())
    machine.process.pause()
    machine.process.do(lambda: answer[0].set_result(None))
    machine.clock.run_until(2000)
    machine.process.resume()
    assert machine.story == [(2000, "answered")]


def test_a_killed_process_puts_nothing_in_order(machine):
    machine.spawn(machine.holds("a lock"), machine.sleep("later", 1))
    machine.process.kill()
    machine.clock.run_until(5000)
    assert machine.story == []


def test_a_task_that_fails_ends_the_run(machine):
    async def fails():
        await asyncio.sleep(1)
        raise ZeroDivisionError

    machine.spawn(fails())
    with pytest.raises(ZeroDivisionError):
        machine.clock.run_until(5000)


def test_a_loop_within_a_loop_leaves_the_outer_one_as_it_was(machine):
    """In a notebook a cell runs in the kernel's own loop."""

    async def cell():
        outer = asyncio.get_running_loop()
        machine.spawn(machine.sleep("inside", 1))
        machine.clock.run_until(2000)
        return asyncio.get_running_loop() is outer

    assert asyncio.run(cell())
    assert machine.story == [(1000, "inside")]
