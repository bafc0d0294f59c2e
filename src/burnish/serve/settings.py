"""What a server is asked to do: its address, limits and keys, and which of them the environment gives."""

import hashlib
import hmac
import ipaddress
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from burnish.errors import ServeError

KEY_VARIABLE = "BURNISH_API_KEY"
_LONGEST_ANSWER_SECONDS = 30
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_HOST = re.compile(r"([a-z0-9_.-]+|\[[0-9a-f:.]+\])(?::\d*)?")


@dataclass(frozen=True)
class Settings:
    """Limits of a server and who may ask it."""

    deadline_seconds: float = 1.0
    """A request whose computation has not begun by then is refused, and none is taken that would wait so long."""
    batch_seconds: float = 0.04
    """How long one batch may take: less makes the wait shorter, more makes better use of the processor."""
    max_bytes: int = 16 << 20
    max_rows: int = 10_000
    max_queue_bytes: int = 256 << 20
    body_seconds: float = 10.0
    """How long a client may take to send the body of its request; a large one takes longer."""
    keys: tuple[bytes, ...] = ()
    """Digests of the API keys; without any, everyone may ask."""
    hosts: frozenset[str] | None = None
    """The names under which it may be asked, in lower case; None for any."""
    should_log_rows: bool = False

    @property
    def drain_seconds(self) -> int:
        """How long open requests have after the signal to stop: to wait for their turn, and to be computed."""
        return math.ceil(self.deadline_seconds) + _LONGEST_ANSWER_SECONDS

    def allows(self, headers: list[tuple[bytes, bytes]]) -> bool:
        """Tell whether a request has one of the keys, in a time that does not depend on how much of it is right."""
        if not self.keys:
            return True
        given = b""
        for name, value in headers:
            if name == b"x-api-key":
                given = value
            elif name == b"authorization" and value[:7].lower() == b"bearer ":
                given = value[7:]
        digest = hashlib.sha256(given.strip()).digest()
        return any([hmac.compare_digest(digest, key) for key in self.keys])  # noqa: C419  # every key is looked at

    def strange_host(self, headers: list[tuple[bytes, bytes]]) -> str | None:
        """Give the name under which a request asks, if it is none of ours; browsers always send one.

        A page elsewhere could point its own name at this machine and read the answers, were any name accepted.
        """
        if self.hosts is None:
            return None
        for name, value in headers:
            if name == b"host" and read_host(value.decode("latin-1")) not in self.hosts:
                return value.decode("latin-1")
        return None


@dataclass(frozen=True)
class Routes:
    """Further paths that answer, and the port, as Vertex AI gives them."""

    health: str | None = None
    predict: str | None = None
    port: int | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Routes":
        """Read AIP_HEALTH_ROUTE, AIP_PREDICT_ROUTE and AIP_HTTP_PORT."""
        port = environment.get("AIP_HTTP_PORT")
        if port is not None and not port.isdecimal():
            raise ServeError(f"AIP_HTTP_PORT is {port!r}, where a number like 8080 is expected")
        routes = {name: environment.get(f"AIP_{name.upper()}_ROUTE") for name in ("health", "predict")}
        for name, route in routes.items():
            if route is not None and not route.startswith("/"):
                raise ServeError(f"AIP_{name.upper()}_ROUTE is {route!r}; a route begins with /")
        return cls(routes["health"], routes["predict"], None if port is None else int(port))


def read_host(text: str) -> str | None:
    """Give the name of `name:port` in lower case; None if it cannot be one."""
    found = _HOST.fullmatch(text.strip().lower())
    return None if found is None else found[1].removesuffix(".")


def allowed_hosts(address: str, names: Sequence[str]) -> frozenset[str] | None:
    """Name what a server may be called that listens on an address: what the user says, and the loopback's own names.

    One that only this machine reaches has no other names. One that others reach, through proxies and services whose
    names it cannot know, may have any, unless the user says which.
    """
    odd = [name for name in names if read_host(name) is None]
    if odd:
        raise ServeError(f"--allow-host {odd[0]!r} is not the name of a host; write one like model.example.org")
    if not names and not is_loopback(address):
        return None
    own = f"[{address}]" if ":" in address else address
    return frozenset(filter(None, map(read_host, (*_LOOPBACK, own, *names))))


def is_loopback(address: str) -> bool:
    """Tell whether only this machine reaches an address."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address.lower() == "localhost"


def read_keys(path: Path | None, environment: Mapping[str, str]) -> tuple[bytes, ...]:
    """Give the digests of the keys of a file, one a line, and of the environment."""
    lines = [environment.get(KEY_VARIABLE, "")]
    if path is not None:
        try:
            lines += path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ServeError(f"--api-key-file {path} could not be read: {error}") from error
    keys = [line.strip().encode() for line in lines if line.strip()]
    if path is not None and not keys:
        raise ServeError(f"--api-key-file {path} has no keys; write one key a line")
    return tuple(hashlib.sha256(key).digest() for key in keys)
