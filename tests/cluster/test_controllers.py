"""Three controllers as processes: they elect a leader, and another one after its death."""

from engine.cli.main import main
from tests.cluster.controllers import Controllers
from tests.interop.watch import until
from tests.limits import START_S

QUICK = ["controller.quorum.election.timeout.ms=300", "controller.quorum.fetch.timeout.ms=1000"]
FETCH_MS = 10_000 * START_S  # longer than the test


def test_three_controllers_elect_a_leader_and_another_one_after_a_kill(tmp_path, capsys):
    with Controllers(tmp_path, config=QUICK) as controllers:
        first = controllers.leader(START_S)
        epoch = controllers.epoch()
        controllers.children[first].kill()
        others = set(controllers.kinds) - {first}
        controllers.leader(START_S, others, after=epoch)
        where = ",".join(map(controllers.address, others))
        status = ["metadata-quorum", "--bootstrap-controller", where, "describe", "--status"]
        capsys.readouterr()
        assert main(status) == 0
        told = dict(line.split(":", 1) for line in capsys.readouterr().out.splitlines())
        assert int(told["LeaderId"]) in others and int(told["LeaderEpoch"]) > epoch
        controllers.start(first)
        controllers.leader(START_S, after=epoch)
        until(lambda: len({controllers.log(id) for id in controllers.kinds}) == 1)
    assert not any(child.alive for child in controllers.children.values())


def test_a_leader_that_is_stopped_tells_the_others_which_need_not_wait_for_a_timeout(tmp_path):
    with Controllers(tmp_path, config=[f"controller.quorum.fetch.timeout.ms={FETCH_MS:.0f}"]) as it:
        first = it.leader(START_S)
        epoch, pid_file = it.epoch(), it.directory(first) / "controller.pid"
        assert int(pid_file.read_text()) == it.children[first].pid
        assert it.children[first].terminate() == 0
        assert not pid_file.exists()
        it.leader(START_S, set(it.kinds) - {first}, after=epoch)
