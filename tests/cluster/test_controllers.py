"""Three controllers as processes: they elect a leader, and another one after its death."""

from engine.cli.main import main
from tests.cluster.controllers import Controllers
from tests.interop.watch import until
from tests.limits import START_S


def test_three_controllers_elect_a_leader_and_another_one_after_a_kill(tmp_path, capsys):
    with Controllers(tmp_path) as controllers:
        first = controllers.leader(START_S)
        epoch = controllers.epoch()
        controllers.children[first].kill()
        others = set(controllers.kinds) - {first}
        second = controllers.leader(START_S, others, after=epoch)
        follower = controllers.address(min(others - {second}))
        status = ["metadata-quorum", "--bootstrap-controller", follower, "describe", "--status"]
        capsys.readouterr()
        assert main(status) == 0
        told = dict(line.split(":", 1) for line in capsys.readouterr().out.splitlines())
        assert int(told["LeaderId"]) == second and int(told["LeaderEpoch"]) > epoch
        assert (controllers.directory(second) / "controller.pid").exists()

        epoch = controllers.epoch()  # an orderly stop: the other one need not wait for a time-out
        controllers.start(first)
        controllers.leader(START_S, after=epoch - 1)
        assert controllers.children[second].terminate() == 0
        assert not (controllers.directory(second) / "controller.pid").exists()
        rest = set(controllers.kinds) - {second}
        third = controllers.leader(START_S, rest, after=epoch)
        assert third in rest
        until(lambda: len({controllers.log(id) for id in rest}) == 1)
    assert not any(child.alive for child in controllers.children.values())
