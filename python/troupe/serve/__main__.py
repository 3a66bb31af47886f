"""`python -m troupe.serve MODEL...`"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import pathlib
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

MISSING = "python -m troupe.serve needs more packages: pip install 'troupe-gpu[serve]' ({})"


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m troupe.serve", description="Serves models over HTTP."
    )
    add = parser.add_argument
    add(
        "models",
        nargs="+",
        metavar="MODEL",
        help="NAME=pypi:PACKAGE, NAME=FOLDER, NAME=FILE.gguf, FILE.py",
    )
    add("--host", default="127.0.0.1", help="another address needs --api-key-file")
    add("--port", type=int, default=8000, help="0: a free one")
    add("--api-key-file", type=pathlib.Path, metavar="FILE", help="lines: TENANT SHA256-OF-KEY")
    add("--backend", choices=("auto", "cpu", "cuda"), default="auto")
    add("--dtype", choices=("f32", "f16", "bf16"), default="f32", help="of checkpoints' weights")
    add(
        "--cache-mb",
        type=int,
        default=512,
        metavar="MB",
        help="keys and values of a model's streams",
    )
    add("--deadline", type=float, default=30.0, metavar="S", help="of requests that give none")
    add("--run-limit", type=float, default=60.0, metavar="S", help="ends a worker that hangs")
    add("--drain", type=float, default=30.0, metavar="S", help="after SIGTERM")
    add("--check", action="store_true", help="loads, measures, and ends")
    add("--poison", metavar="TEXT", help="a rehearsal: texts that begin so end the worker")
    return parser


def service_of(arguments: list[str] | None) -> tuple[Any, argparse.Namespace]:
    """The service, not yet begun, and the options. Raises ValueError with what is wrong."""
    options = _options().parse_args(arguments)
    from . import sources
    from .gate import LOCAL, Keys
    from .service import Service

    keys = None
    if options.api_key_file is not None:
        try:
            keys = Keys(options.api_key_file.read_text())
        except ValueError as why:
            raise ValueError(f"{options.api_key_file}: {why}") from None
    elif options.host.encode() not in LOCAL and options.host != "::1":
        raise ValueError(f"{options.host}: whoever can reach it could use it; give --api-key-file")
    if options.cache_mb < 1:
        raise ValueError(f"--cache-mb must be at least 1; it is {options.cache_mb}")
    service = Service(
        *sources.parse(options.models),
        host=options.host,
        keys=keys,
        dtype=options.dtype,
        deadline=options.deadline,
        drain=options.drain,
        poison=options.poison,
        cache_bytes=options.cache_mb << 20,
        backend=options.backend,
        run_limit=options.run_limit,
    )
    return service, options


def _server(service: Any) -> Any:
    """uvicorn with our limits; it says nothing unless something is wrong."""
    import uvicorn

    from .app import make
    from .gate import Limits, protocol

    limits = Limits()
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    gate = make(service, limits)
    config = uvicorn.Config(
        gate,
        http=protocol(limits, gate),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=limits.connections,
        timeout_keep_alive=int(limits.idle),
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)


async def serve(
    service: Any,
    options: argparse.Namespace,
    began: float,
    ready: Callable[[str], Any] = lambda _: None,
) -> int:
    """Until a signal ends it: the exit status. `ready` is called with the URL."""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    listening = socket.create_server((options.host, options.port), family=family, backlog=1024)
    server = _server(service)
    loop = asyncio.get_running_loop()
    ending = asyncio.Event()

    def stop() -> None:
        if ending.is_set():
            server.should_exit = server.force_exit = True
        ending.set()

    # uvicorn would close the port first: balancers should be told by /readyz, and be answered.
    running = asyncio.ensure_future(server._serve([listening]))
    for one in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(one, stop)
    status = 0
    try:
        await service.begin()
        host = f"[{options.host}]" if ":" in options.host else options.host
        url = f"http://{host}:{listening.getsockname()[1]}"
        page = service.telemetry.url if service.keys else url + "/"
        if not service.keys and any(one.generates for one in service.checkpoints):
            page += f"  playground: {url}/playground"
        async with _admin(service):
            print(f"ready after {time.monotonic() - began:.1f} s: {url}  models: "
                  f"{', '.join(service.models)}  page: {page}", flush=True)  # fmt: skip
            ready(url)
            told = asyncio.ensure_future(ending.wait())
            await asyncio.wait({running, told}, return_when="FIRST_COMPLETED")
        ended = asyncio.ensure_future(service.end())
        while not ended.done() and not server.force_exit:
            await asyncio.wait({ended}, timeout=0.05)
    except Exception as why:
        print(f"python -m troupe.serve: {why}", file=sys.stderr)
        status = 1
    server.should_exit = True
    await running
    return status


def _admin(service: Any) -> contextlib.AbstractAsyncContextManager[None]:
    """The socket for ctl, beside telemetry's."""
    from .admin import listening

    beside = service.telemetry.socket
    if not beside:
        return contextlib.nullcontext()
    return listening(service, pathlib.Path(beside).with_suffix(".admin"))


async def _check(service: Any) -> int:
    await service.begin()
    print(f"device: {service.device.hardware.name}")
    for one in service.models.values():
        print(f"{one.name}: {one.described()}")
    used = service.device.snapshot().statistics.memory_used_bytes
    print(f"memory: {used / 1e6:.0f} MB")
    return 0


def main(arguments: list[str] | None = None) -> int:
    began = time.monotonic()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    try:
        service, options = service_of(arguments)
    except ModuleNotFoundError as why:
        print(MISSING.format(f"{why.name} is missing"), file=sys.stderr)
        return 2
    except (ValueError, OSError) as why:
        print(f"python -m troupe.serve: {why}", file=sys.stderr)
        return 2
    import uvloop

    try:
        work = _check(service) if options.check else serve(service, options, began)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(work)
    except (ValueError, OSError) as why:
        print(f"python -m troupe.serve: {why}", file=sys.stderr)
        return 1
    finally:
        service.close()


if __name__ == "__main__":
    sys.exit(main())
