"""What the system says of its room, read from small copies of its files; and what is made of it."""

import errno
import logging
import os
import re
import resource
import signal

import pytest

from engine.cluster import java, resources
from engine.cluster.broker_process import BrokerProcess
from engine.cluster.cluster import Cluster
from engine.cluster.metadata_servers import MetadataAddress
from engine.cluster.resources import MB, Resources
from engine.cluster.zookeeper import StartError, ZookeeperServer
from engine.errors import ApiException
from sparkstreams import session
from tests.unit.cluster.script_launcher import ScriptLauncher

NEED = resources.cluster(3)  # 200 MB, 45 tasks, 50 MB of disk
MEMINFO = "MemTotal: 24105000 kB\nMemFree: 1000 kB\nMemAvailable: {} kB\n"


@pytest.fixture
def system(tmp_path, monkeypatch):
    """Writes the files of a system that are named, and reads them as root would."""
    monkeypatch.setattr(os, "getuid", lambda: 0)

    def read(files, place=tmp_path):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return resources.read(place, tmp_path)

    return read


# -- reading ---------------------------------------------------------------------------------


def test_a_plain_machine_has_what_it_says_is_available(system):
    found = system({"proc/meminfo": MEMINFO.format(2_000_000)})
    assert found[:2] == (2_048_000_000, None)


def test_in_a_container_of_version_2_the_limit_counts_and_the_page_cache_is_free(system):
    files = {
        "proc/meminfo": MEMINFO.format(20_000_000),
        "proc/self/cgroup": "0::/\n",
        "sys/fs/cgroup/memory.max": "2000000000\n",
        "sys/fs/cgroup/memory.current": "1500000000\n",
        "sys/fs/cgroup/memory.stat": "anon 110\ninactive_file 100000000\nactive_file 200000000\n",
        "sys/fs/cgroup/pids.max": "500\n",
        "sys/fs/cgroup/pids.current": "460\n",
    }
    assert system(files)[:2] == (800_000_000, 40)


def test_a_limit_further_up_holds_as_well(system):
    files = {
        "proc/self/cgroup": "0::/class/student-7\n",
        "sys/fs/cgroup/class/student-7/memory.max": "max\n",
        "sys/fs/cgroup/class/student-7/memory.current": "100000000\n",
        "sys/fs/cgroup/class/memory.max": "1000000000\n",
        "sys/fs/cgroup/class/memory.current": "900000000\n",
        "sys/fs/cgroup/class/student-7/pids.max": "100\n",
        "sys/fs/cgroup/class/student-7/pids.current": "10\n",
    }
    assert system(files)[:2] == (100_000_000, 90)


def test_in_version_1_each_controller_has_a_tree_of_its_own(system):
    files = {
        "proc/meminfo": MEMINFO.format(20_000_000),
        "proc/self/cgroup": "9:name=systemd:/\n8:pids:/p\n4:memory:/gone/in/here\n0::/\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "1000000000\n",
        "sys/fs/cgroup/memory/memory.usage_in_bytes": "700000000\n",
        "sys/fs/cgroup/memory/memory.stat": "inactive_file 1\n"
        "total_inactive_file 30000000\ntotal_active_file 20000000\n",
        "sys/fs/cgroup/pids/p/pids.max": "64\n",
        "sys/fs/cgroup/pids/p/pids.current": "60\n",
    }
    assert system(files)[:2] == (350_000_000, 4)


def test_the_limit_of_a_user_counts_what_runs_already(system, monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    monkeypatch.setattr(resource, "getrlimit", lambda what: (10, 12))
    monkeypatch.setattr(resources, "_tasks_of", lambda user, root: {1000: 3}[user])
    assert system({}).tasks == 10 - 3


def test_what_runs_of_a_user_is_every_thread_of_every_process(tmp_path):
    for task in ("1/task/1", "1/task/2", "7/task/7", "self/task/8"):
        (tmp_path / "proc" / task).mkdir(parents=True)
    (tmp_path / "proc" / "9").mkdir()  # which ends while we look
    owner = tmp_path.stat().st_uid
    assert resources._tasks_of(owner, tmp_path) == 3
    assert resources._tasks_of(owner + 1, tmp_path) == 0


def test_what_a_system_does_not_tell_is_not_guessed(system, tmp_path):
    found = system({}, tmp_path / "not" / "there" / "yet")
    assert found[:2] == (None, None)
    assert found.disk and found.disk > 0
    assert (
        resources.refusal(Resources(), NEED, tmp_path) == resources.warning(Resources(), NEED) == ""
    )


def test_this_very_machine_can_be_read():
    found = resources.read(resources.ROOT)
    assert found.memory is None or found.memory > 0
    assert found.disk


# -- what is made of it ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "told"),
    [
        (
            Resources(memory=96 * MB),
            "a cluster of 3 brokers cannot start, there is too little memory: it takes 200 MB, and "
            f"96 MB are left. {resources.ADVICE}, or start fewer brokers.",
        ),
        (
            Resources(memory=-5 * MB),
            "a cluster of 3 brokers cannot start, there is too little memory: it takes 200 MB, and "
            f"0 MB are left. {resources.ADVICE}, or start fewer brokers.",
        ),
        (
            Resources(tasks=44),
            "a cluster of 3 brokers cannot start, there is too little room for processes: it takes "
            f"45 with their threads, and 44 more may be started. {resources.ADVICE}, or start "
            "fewer brokers.",
        ),
        (
            Resources(disk=1 * MB),
            "a cluster of 3 brokers cannot start, there is too little room in DIR: it takes 50 MB, "
            "and 1 MB are left. Delete what you no longer need there, or set TMPDIR to a folder "
            "with more room.",
        ),
        (Resources(200 * MB, 45, 50 * MB), ""),
    ],
)
def test_too_little_is_refused_with_the_numbers_and_what_to_do(left, told, tmp_path):
    assert resources.refusal(left, NEED, tmp_path) == told.replace("DIR", str(tmp_path), 1)


def test_one_broker_needs_less_and_fewer_there_cannot_be(tmp_path):
    told = resources.refusal(Resources(memory=10 * MB), resources.cluster(1), tmp_path)
    assert "a cluster of 1 broker cannot" in told
    assert "fewer" not in told
    assert resources.cluster(1).least < resources.cluster(2).least
    assert resources.cluster(1, zookeepers=0).least.memory == 40 * MB


def test_what_will_do_but_not_for_long_is_said_and_lets_the_cell_go_on(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        resources.check(NEED, tmp_path, Resources(300 * MB, 60, 1000 * MB))
    (message,) = caplog.messages
    assert max(map(len, message.splitlines())) <= resources.WIDTH
    assert message.replace("\n", " ") == (
        "There is room for a cluster of 3 brokers, but not much: 300 MB of memory and 60 processes "
        f"and threads are left. If something dies by itself, this is why. {resources.ADVICE}."
    )


def test_where_there_is_enough_nothing_is_said(tmp_path, caplog):
    resources.check(NEED, tmp_path, Resources(400 * MB, 90, 100 * MB))
    assert caplog.messages == []


def test_a_cluster_that_has_no_room_starts_nothing_and_leaves_nothing(monkeypatch):
    monkeypatch.setattr(resources, "read", lambda place: Resources(memory=1 * MB))
    cluster = Cluster(brokers=2)
    with pytest.raises(
        ApiException, match=r"a cluster of 2 brokers cannot start, .* 1 MB are left"
    ):
        cluster.start()
    assert not cluster.data.exists()


def test_spark_that_has_no_room_is_not_started_either(monkeypatch):
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    monkeypatch.setattr(session.jvm, "running", lambda: False)
    monkeypatch.setattr(session.jvm, "launch", lambda conf: pytest.fail("it was started"))
    monkeypatch.setattr(resources, "read", lambda place: Resources(memory=499 * MB))
    with pytest.raises(ApiException, match=r"Spark cannot start, .* takes 500 MB, and 499 MB"):
        session.start()


# -- when it runs out all the same -----------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (errno.EAGAIN, "starts no more processes"),
        (errno.ENOMEM, "no memory left"),
        (errno.EMFILE, "ulimit -n"),
        (errno.ENOSPC, "disk is full"),
    ],
)
def test_what_the_system_refuses_with_a_number_is_a_sentence(number, told):
    with (
        pytest.raises(ApiException, match=f"Spark cannot start, .*{told}"),
        resources.refusals("Spark"),
    ):
        raise OSError(number, os.strerror(number))


def test_every_other_error_stays_what_it_is():
    with pytest.raises(PermissionError), resources.refusals("Spark"):
        raise PermissionError(errno.EACCES, "no")


def test_a_cluster_whose_processes_are_refused_says_so(monkeypatch):
    def refused(*_, **__):
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr("engine.cluster.zookeeper.Child", refused)
    cluster = Cluster()
    with pytest.raises(ApiException, match="a cluster of 1 broker cannot start, the system starts"):
        cluster.start()
    assert not cluster.data.exists()


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("import os; os.kill(os.getpid(), 9)", r"SIGKILL \(nobody here did that; .*Shut down"),
        ("raise MemoryError", r"MemoryError \(there is no room left\)\. Shut down"),
        ("raise SystemExit('a bad key')", "a bad key$"),
    ],
)
def test_a_broker_that_finds_no_room_dies_with_a_hint(tmp_path, script, told):
    node = BrokerProcess(7, 0, tmp_path / "broker-7", {})
    node.launch(MetadataAddress("nowhere:1"), {}, ScriptLauncher(tmp_path, script))
    with pytest.raises(ApiException, match=f"broker 7 did not start: {told}"):
        node.await_ready()


def test_a_java_that_finds_no_room_is_reported_with_a_hint_and_its_log(tmp_path, monkeypatch):
    script = tmp_path / "java"
    script.write_text("#!/bin/sh\necho Could not reserve enough space for object heap\nexit 1\n")
    script.chmod(0o755)
    monkeypatch.setattr(java, "find", lambda: script)
    told = f"while starting (there is no room left). {resources.ADVICE}. The log ends:\nCould not"
    with pytest.raises(StartError, match=re.escape(told)):
        ZookeeperServer(tmp_path / "data").start()


def test_other_ends_need_no_hint():
    assert (
        resources.hint(1, "some error")
        == resources.hint(-signal.SIGTERM, "")
        == resources.hint(None, "")
        == ""
    )
