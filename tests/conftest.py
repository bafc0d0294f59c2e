"""What every test may rely on: no network, a cache of its own, one thread, the same examples each time."""

import ipaddress
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

# Before any import of torch or transformers: both read these once.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"
os.environ["NO_COLOR"] = "1"
os.environ["COLUMNS"] = "120"
# Before any import of google.auth, which reads it once: credentials are looked for in no service of a machine.
os.environ["NO_GCE_CHECK"] = "true"
# Before any import of gcsfs: else it asks an emulator for the kind of a bucket over gRPC, and waits for minutes.
os.environ["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] = "false"

from hypothesis import HealthCheck, settings  # after the variables above

settings.register_profile(
    "burnish", derandomize=True, deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("burnish")


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    directory = tmp_path_factory.mktemp("burnish-cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BURNISH_CACHE", str(directory))
        patch.setenv("BURNISH_STATE", str(directory / "state"))
        yield directory


@pytest.fixture(scope="session")
def interpreter() -> Iterator[Path]:
    """Give an interpreter whose modules are forks of a process that has imported everything."""
    from tests.harness.quick_cli import quick_interpreter

    with quick_interpreter() as started:
        yield started


@pytest.fixture(scope="module")
def quick_workers(interpreter: Path) -> Iterator[None]:
    """Train the runs of a module by forks: what a fresh process does, other tests show."""
    from tests.harness.quick_cli import workers_by

    with workers_by(interpreter):
        yield


@pytest.fixture(scope="session", autouse=True)
def _loopback_only() -> Iterator[None]:
    """Refuse any connection that would leave this machine."""
    connect, connect_ex, sendto = socket.socket.connect, socket.socket.connect_ex, socket.socket.sendto

    def guarded_connect(self: socket.socket, address: object) -> None:
        _refuse_unless_loopback(self, address)
        connect(self, address)  # type: ignore[arg-type]  # passed on as it came

    def guarded_connect_ex(self: socket.socket, address: object) -> int:
        _refuse_unless_loopback(self, address)
        return connect_ex(self, address)  # type: ignore[arg-type]  # passed on as it came

    def guarded_sendto(self: socket.socket, *arguments: object) -> int:
        _refuse_unless_loopback(self, arguments[-1])
        return sendto(self, *arguments)  # type: ignore[call-overload,no-any-return]  # passed on as it came

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded_connect)
        patch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
        patch.setattr(socket.socket, "sendto", guarded_sendto)
        yield


def _refuse_unless_loopback(connection: socket.socket, address: object) -> None:
    if connection.family in (socket.AF_INET, socket.AF_INET6) and not _is_loopback(address):
        raise AssertionError(f"a test tried to reach {address!r}; tests may only reach this machine")


def _is_loopback(address: object) -> bool:
    host = str(address[0]) if isinstance(address, tuple) else ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
