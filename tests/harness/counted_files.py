"""Files opened for writing that pass every open and every write through a gate."""

import builtins
import io
from collections.abc import Callable
from typing import Any

Gate = Callable[..., Any]
"""Takes a kind, a path and a call; `tear` does half of the call. Does the call, or lets it go wrong."""

_WRITING = frozenset("wax+")


def install(gate: Gate) -> None:
    """Let `open` in all its names give files whose writes pass the gate."""
    real = builtins.open

    def counted_open(file: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        if not _WRITING & set(mode):
            return real(file, mode, *arguments, **options)
        stream = gate("open", file, lambda: real(file, mode, *arguments, **options))
        return _counted(stream, gate, newline=_newline(arguments, options))

    # pathlib opens by the name in `io`, everyone else by the built-in one
    setattr(builtins, "open", counted_open)  # noqa: B010  # mypy refuses a plain assignment to a built-in
    setattr(io, "open", counted_open)  # noqa: B010  # as above


class CountedWriter(io.BufferedWriter):
    """A binary file whose every write passes the gate."""

    gate: Gate

    def write(self, content: Any, /) -> int:
        """Write through the gate; torn, the first half reaches the file."""

        def tear() -> None:
            whole = bytes(content)
            super(CountedWriter, self).write(whole[: len(whole) // 2])
            self.flush()

        def whole() -> int:
            count = super(CountedWriter, self).write(content)
            self.flush()  # a kill right after this write must find it in the file
            return count

        written: int = self.gate("write", getattr(self.raw, "name", "?"), whole, tear=tear)
        return written


def _counted(stream: Any, gate: Gate, *, newline: str | None) -> Any:
    if isinstance(stream, io.BufferedWriter):
        return _writer(stream, gate)
    if isinstance(stream, io.TextIOWrapper) and isinstance(stream.buffer, io.BufferedWriter):
        encoding, errors = stream.encoding, stream.errors
        buffer: Any = stream.detach()
        return io.TextIOWrapper(_writer(buffer, gate), encoding=encoding, errors=errors, newline=newline)
    return stream  # read and write at once, or unbuffered: opened through the gate, written without it


def _writer(stream: io.BufferedWriter, gate: Gate) -> CountedWriter:
    writer = CountedWriter(stream.detach())
    writer.gate = gate
    return writer


def _newline(arguments: tuple[Any, ...], options: dict[str, Any]) -> str | None:
    newline: str | None = arguments[3] if len(arguments) > 3 else options.get("newline")
    return newline
