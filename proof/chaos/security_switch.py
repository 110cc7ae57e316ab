"""The way of a cluster from PLAINTEXT to SASL_SSL, by rolling restarts.

    step      listeners              brokers talk over    clients
    open      PLAINTEXT              PLAINTEXT            PLAINTEXT
    both      PLAINTEXT, SASL_SSL    PLAINTEXT            PLAINTEXT
    inside    SASL_SSL, PLAINTEXT    SASL_SSL             both
    closed    SASL_SSL               SASL_SSL             SASL_SSL

    switch.restart()      stop or kill the next broker, and start it with its next settings

A step begins when every broker has done the one before it: then the replicas are in sync, and
clients join or leave. Within a step nobody waits for that.

The first listener is the one by which the cluster itself reaches a broker (BrokerProcess.port).
Passwords are in the files of ClusterSecurity, not on a command line.
"""

from random import Random

from engine.cluster.cluster import Cluster
from engine.cluster.ports import free_port
from engine.cluster.security.cluster_security import ClusterSecurity
from proof.chaos.workload import ChaosWorkload

PLAIN, SECURED = "PLAINTEXT", "SASL_SSL"
USER, PASSWORD = "chaos", "what the clients know"
# (listeners, the one between brokers)
STEPS = {
    "both": ((PLAIN, SECURED), PLAIN),
    "inside": ((SECURED, PLAIN), SECURED),
    "closed": ((SECURED,), SECURED),
}


class SecuritySwitch:
    def __init__(self, cluster: Cluster, work: ChaosWorkload, seed: int) -> None:
        self._cluster, self._work = cluster, work
        self._chance = Random(seed)
        self._security = ClusterSecurity(cluster.data, SECURED, {USER: PASSWORD})
        self._security.store_users(cluster.zookeeper)
        plain = [address.rpartition(":")[2] for address in cluster.bootstrap.split(",")]
        self._ports = {
            broker: {PLAIN: int(port), SECURED: free_port()}
            for broker, port in zip(cluster.brokers, plain, strict=True)
        }
        self._left = [(step, broker) for step in STEPS for broker in cluster.brokers]

    @property
    def is_done(self) -> bool:
        return not self._left

    def restart(self) -> str:
        """The next broker gets its next settings. Returns what was done."""
        step, broker = self._left.pop(0)
        if broker == self._cluster.brokers[0]:
            self._begin(step)
        self._configure(broker, step)
        end = self._chance.choice((self._cluster.kill, self._cluster.stop_broker))
        end(broker)
        self._cluster.restart(broker)
        return f"restart {broker}: {step}"

    def _begin(self, step: str) -> None:
        self._work.await_whole()
        if step == "inside":
            own = self._security.settings(USER)
            self._work.join(SECURED, self._bootstrap, **own)
        elif step == "closed":
            self._work.leave()

    @property
    def _bootstrap(self) -> str:
        """Of the clients that log in."""
        return ",".join(f"127.0.0.1:{ports[SECURED]}" for ports in self._ports.values())

    def _configure(self, broker: int, step: str) -> None:
        names, between = STEPS[step]
        ports, security = self._ports[broker], self._security
        listeners = [f"{name}://127.0.0.1:{ports[name]}" for name in names]
        settings = {"listeners": ",".join(listeners), "security.inter.broker.protocol": between}
        if names[0] == SECURED:
            self._cluster.configure(broker, settings, security=security, port=ports[SECURED])
        else:
            file = security.properties(broker, ports[SECURED])
            self._cluster.configure(broker, settings, properties=file)
