"""Puts a server together from artifacts, serves until it is asked to stop, and answers what it accepted."""

import asyncio
import ctypes
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa
from uvicorn import Config, Server

from burnish.artifact.bundle import GOLDEN
from burnish.artifact.locate import EngineChoice
from burnish.artifact.predictor import load_all
from burnish.durable import read_json
from burnish.errors import ServeError
from burnish.serve.app import Api
from burnish.serve.metrics import Metrics
from burnish.serve.model import ServedModel
from burnish.serve.protocol import PatientProtocol
from burnish.serve.requests import RowFormats
from burnish.serve.settings import Routes, Settings

_LINGER_SECONDS = 0.5
"""How long connections that are open may still send requests after the signal to stop."""
_SWITCH_SECONDS = 0.0005
"""How long a worker may keep the interpreter from the event loop; Python's own 5 ms are felt in every answer."""


_MALLOC = {"M_ARENA_MAX": (-8, 2), "M_TRIM_THRESHOLD": (-1, 1 << 20)}
"""Settings of glibc's malloc by their numbers: by default every thread keeps what it freed to itself."""
_CACHES = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64", "LRU_CACHE_CAPACITY": "256"}
"""For how many shapes of a product its compiled code is kept, and for how many what was prepared for it; by default
1,024 each, which are half a gigabyte, and a server sees every shape."""


def build_api(
    artifacts: Mapping[str, Path],
    *,
    settings: Settings,
    routes: Routes,
    formats: RowFormats,
    engine: EngineChoice,
    trust_code: bool,
    log: Callable[[str], None],
    access: Callable[[str], None],
) -> Api:
    """Load each artifact, which proves itself, measure it, and start to answer; a task of several is `NAME.TASK`."""
    # First, or allocators and caches would grow for as long as requests differ.
    for name, shapes in _CACHES.items():
        os.environ.setdefault(name, shapes)
    pa.set_memory_pool(pa.system_memory_pool())
    with suppress(OSError, AttributeError, TypeError):  # another system, or another C library
        libc = ctypes.CDLL(None)
        for option, value in _MALLOC.values():
            libc.mallopt(option, value)
    metrics, models = Metrics(), []
    for name, path in artifacts.items():
        log(f"loading {name} from {path}")
        golden = read_json(path / GOLDEN)
        for task, predictor in load_all(path, trust_code=trust_code, engine=engine, threads=1).items():
            full = f"{name}.{task}" if task else name
            model = ServedModel(
                full,
                predictor,
                samples=(golden["tasks"][task] if task else golden)["rows"],
                settings=settings,
                metrics=metrics.add_model(full, predictor.signature),
                log=log,
            )
            models.append(model)
    for model in models:
        model.start()
    return Api(models, settings=settings, routes=routes, metrics=metrics, formats=formats, log=access)


def listen(host: str, port: int) -> socket.socket:
    """Take an address before anything is loaded; port 0 takes one that is free."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise ServeError(
            f"{host}:{port} cannot be listened on ({error.strerror or error}); choose another with --host and --port"
        ) from error


def run_server(api: Api, listener: socket.socket, *, drain_seconds: int, log: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT, after which open requests have so long to be answered."""
    config = Config(
        api,
        http=PatientProtocol,
        loop="uvloop",
        log_config=None,
        log_level="critical",
        access_log=False,
        ws="none",
        timeout_keep_alive=75,
        timeout_graceful_shutdown=drain_seconds,
        server_header=False,
        proxy_headers=False,
    )
    sys.setswitchinterval(_SWITCH_SECONDS)
    DrainingServer(config, api, log).run(sockets=[listener])
    for model in api.models.values():
        model.close()
    log("every accepted request was answered")


class DrainingServer(Server):
    """Stop at a signal as behind a load balancer: refuse to be ready, answer what comes for a moment, then end."""

    def __init__(self, config: Config, api: Api, log: Callable[[str], None]) -> None:
        super().__init__(config)
        self._api = api
        self._log = log

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Drain at a signal, and leave with exit code 0."""
        loop = asyncio.get_running_loop()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(each, self._drain, each)
        yield

    def _drain(self, number: int) -> None:
        if self._api.is_draining:
            self.force_exit = self.should_exit = True
            return
        self._log(f"{signal.Signals(number).name}: no new connections are taken, and open requests are answered")
        self._api.is_draining = True
        for server in self.servers:
            server.close()
        asyncio.get_running_loop().call_later(_LINGER_SECONDS, setattr, self, "should_exit", True)
