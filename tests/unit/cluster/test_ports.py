"""Ports that are drawn for several servers are not the same one."""

from engine.cluster.ports import free_ports


def test_ports_for_many_servers_are_all_different() -> None:
    """Drawn one after the other, of 500 some would come twice: the kernel has 28,000."""
    assert len(set(free_ports(500))) == 500
