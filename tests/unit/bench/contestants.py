"""Contestants that need nothing, for tests of the contest itself."""

import os
import sys
from collections.abc import Mapping
from typing import Any

from bench.harness.blocks import Block
from bench.harness.contestant import Referee
from burnish.errors import DataError


def counting(request: Mapping[str, Any], referee: Referee) -> None:
    """Report the number of the turn, and chatter on standard output meanwhile."""
    referee.ready()
    turns = 0
    while referee.turn():
        turns += 1
        sys.stdout.write("a library says something\n")
        sys.stdout.flush()
        mark, settings = os.environ.get("MARK", "0"), os.environ.get("GLIBC_TUNABLES", "")
        referee.report(Block(request["seconds"], examples=turns, tokens=len(settings), flops=float(mark)))


def placed(_request: Mapping[str, Any], referee: Referee) -> None:
    """Take as long as the rank says, and do as many examples as there are processes."""
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    referee.ready()
    while referee.turn():
        referee.report(Block(1.0 + rank, examples=size, tokens=int(os.environ["MASTER_PORT"])))


def refusing(_request: Mapping[str, Any], _referee: Referee) -> None:
    """Refuse before the first turn."""
    raise DataError("there are no rows")


def dying(_request: Mapping[str, Any], referee: Referee) -> None:
    """Die in the first turn."""
    referee.ready()
    referee.turn()
    os._exit(9)
