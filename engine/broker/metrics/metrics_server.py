"""http://127.0.0.1:PORT/metrics of a broker, if it has the key `prometheus.port`.

    python -m engine broker ... --config prometheus.port=9404          0 takes a free port
    DIR/metrics.port                                                   the port, while it runs

Kafka itself shows its numbers by JMX, and the JMX exporter turns them into such a page. So Kafka
has no key for it: this one is our own. The page is plain text; only GET /metrics is answered.

Invariant: the broker never waits for a reader of this page.
"""

import asyncio
import logging
from contextlib import suppress
from pathlib import Path

from engine.broker.metrics.broker_metrics import BrokerMetrics

HOST = "127.0.0.1"
PORT_FILE = "metrics.port"
READER_WAIT_S = 5.0  # for a reader to ask, and to take the page
OBSERVE_INTERVAL_S = 1.0  # between two observations of what is counted
TYPE = "text/plain; version=0.0.4; charset=utf-8"

log = logging.getLogger(__name__)


class MetricsServer:
    def __init__(self, metrics: BrokerMetrics, home: Path, port: int) -> None:
        self._metrics = metrics
        self._file = home / PORT_FILE
        self._port = port
        self._server: asyncio.Server | None = None
        self._observer: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, HOST, self._port)
        port = self._server.sockets[0].getsockname()[1]
        try:
            self._file.write_text(f"{port}\n")
        except OSError as error:
            log.warning("the port of the metrics is in no file: %s", error)
        log.info("metrics are at http://%s:%d/metrics", HOST, port)
        self._observer = asyncio.get_running_loop().create_task(self._observe())

    async def close(self) -> None:
        with suppress(OSError):  # its disk may have failed
            self._file.unlink()
        if self._observer is not None:
            self._observer.cancel()
        if self._server is not None:
            self._server.close()

    async def _observe(self) -> None:
        while True:
            self._metrics.observe()
            await asyncio.sleep(OBSERVE_INTERVAL_S)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(READER_WAIT_S):
                request = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n", 1)[0]
                writer.write(self._answer(request.split(b" ")))
                await writer.drain()
        except (TimeoutError, ConnectionError, asyncio.IncompleteReadError) as error:
            log.info("a reader of the metrics has gone: %r", error)
        except asyncio.LimitOverrunError as error:
            log.info("a request for metrics was too long: %s", error)
        finally:
            writer.close()

    def _answer(self, words: list[bytes]) -> bytes:
        if words[:2] == [b"GET", b"/metrics"]:
            status, body = "200 OK", self._metrics.page().encode()
        else:
            status, body = "404 Not Found", b"there is only GET /metrics\n"
        head = f"HTTP/1.1 {status}\r\nContent-Type: {TYPE}\r\nContent-Length: {len(body)}\r\n"
        return f"{head}Connection: close\r\n\r\n".encode() + body
