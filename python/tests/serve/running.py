"""A service in this process: its loop in a thread, a port for real clients, and none for others."""

import asyncio
import threading

import httpx
import uvicorn
from troupe.serve.app import make
from troupe.serve.gate import Limits, protocol
from troupe.serve.service import Service

LIMITS = Limits(seconds=0.2, idle=0.3, tensors=8 << 20)


class Running:
    """A service, its loop in a thread, and a client of each kind."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.gate = make(service, LIMITS)
        config = uvicorn.Config(
            self.gate,
            port=0,
            http=protocol(LIMITS, self.gate),
            ws="none",
            lifespan="off",
            log_config=None,
        )
        self.server = uvicorn.Server(config)
        self.ends = asyncio.run_coroutine_threadsafe(self.server._serve(), self.loop)
        self.run(service.begin())
        while not self.server.started:
            self.run(asyncio.sleep(0.01))
        self.port = self.server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        transport = httpx.ASGITransport(self.gate, raise_app_exceptions=False)
        self.client = httpx.AsyncClient(transport=transport, base_url="http://localhost")

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(60)

    def ask(self, method: str, path: str, **kwargs) -> httpx.Response:
        """In this process, without a socket."""
        return self.run(self.client.request(method, path, **kwargs))

    def post(self, path: str, body) -> httpx.Response:
        return self.ask("POST", path, json=body)

    def close(self) -> None:
        self.run(self.client.aclose())
        self.run(self.service.end())
        self.server.should_exit = self.server.force_exit = True
        self.ends.result(10)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.service.close()
