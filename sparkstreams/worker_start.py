"""Starts a query's Python process: it connects to Spark first, and imports afterwards.

    JVM ── python -m some.runner ──> process     up to 10 s are allowed from here ...
    JVM <────── a connection ─────── process     ... to here, and no setting changes that
    JVM <───── the secret, "ok" ───> process
                                     imports PySpark, pandas, Arrow, us
    JVM <────────── work ──────────> process     for which no time is set

Spark's runner imports first. On a small or busy machine that may take longer than the time limit,
and then the query fails. So this file connects, in a process that has imported almost nothing, and
passes the connection to the runner.

Spark runs it instead of Python (jvm.py): worker_start.py -m some.runner.

Invariant: before the connection is made, only Python's standard library is imported.
"""

import importlib
import os
import runpy
import socket
import struct
import sys
from collections.abc import Mapping
from typing import Any

LENGTH = struct.Struct(">i")
PORT, PATH = "PYTHON_WORKER_FACTORY_PORT", "PYTHON_WORKER_FACTORY_SOCK_PATH"
SECRET = "PYTHON_WORKER_FACTORY_SECRET"
Link = tuple[Any, socket.socket]  # the file and the socket below it, as PySpark wants them


def connect(environment: Mapping[str, str]) -> Link:
    """Connect as PySpark does it later; a Unix socket needs no secret."""
    path, secret = environment.get(PATH), environment.get(SECRET)
    if path:
        link = socket.socket(socket.AF_UNIX)
        link.connect(path)
    else:
        ipv6 = environment.get("SPARK_PREFER_IPV6", "false").lower() == "true"
        link = socket.create_connection(("::1" if ipv6 else "127.0.0.1", int(environment[PORT])))
    link.settimeout(int(environment.get("SPARK_AUTH_SOCKET_TIMEOUT", 15)))
    file = link.makefile("rwb", int(environment.get("SPARK_BUFFER_SIZE", 65536)))
    if secret and not path:
        encoded = secret.encode()
        file.write(LENGTH.pack(len(encoded)) + encoded)
        file.flush()
        (length,) = LENGTH.unpack(file.read(LENGTH.size))
        if (answer := file.read(length)) != b"ok":
            sys.exit(f"Spark does not know this process: it says {answer!r}")
    return file, link


def hand_over(link: Link) -> None:
    """Give this connection to the runner, which asks for it first; later ones are new."""
    worker_util: Any = importlib.import_module("pyspark.worker_util")
    theirs, links = worker_util.local_connect_and_auth, [link]

    def ours(conn_info: str | int | None, auth_secret: str | None) -> Any:
        return links.pop() if links else theirs(conn_info, auth_secret)

    worker_util.local_connect_and_auth = ours


def main(arguments: list[str]) -> None:
    option, module, *rest = arguments
    assert option == "-m", arguments
    hand_over(connect(os.environ))
    sys.argv = [sys.argv[0], *rest]
    sys.path.insert(0, os.getcwd())  # as -m does
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1:])
