"""A process that works when it is told to: the far end of a contest, and all that its work needs to know of it."""

import importlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from time import perf_counter
from typing import Any, TextIO

from bench.harness.blocks import Block
from burnish.errors import BurnishError
from burnish.launch.module_path import find_modules_here
from burnish.run.record.ending import refusal
from burnish.spec.values import Array


class Referee:
    """Tell a contestant when it is its turn, and hear how long it took."""

    def __init__(self, asks: TextIO, answers: TextIO) -> None:
        self._asks = asks
        self._answers = answers

    def ready(self) -> None:
        """Say that everything is loaded."""
        self.say({"ready": True})

    def turn(self) -> bool:
        """Wait for the next turn; False when there is none."""
        return bool(self._asks.readline())

    def report(self, block: Block) -> None:
        """Hand in a stretch of work."""
        self.say(asdict(block))

    def repeat(self, work: Callable[[], object], *, lengths: "Array") -> None:
        """Let the same work on examples of these lengths be done each turn."""
        self.ready()
        while self.turn():
            began = perf_counter()
            work()
            self.report(Block(perf_counter() - began, len(lengths), int(lengths.sum())))

    def say(self, values: Mapping[str, Any]) -> None:
        """Write one line of JSON."""
        self._answers.write(json.dumps(values) + "\n")
        self._answers.flush()


def main(argv: list[str]) -> int:
    """Work as `module:function` of the first argument does, on the request in the second."""
    find_modules_here()
    # Whatever a library prints goes to standard error; the answers have the old standard output to themselves.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    referee = Referee(sys.stdin, answers)
    module, _, name = argv[0].partition(":")
    try:
        getattr(importlib.import_module(module), name)(json.loads(argv[1]), referee)
    except BurnishError as error:
        referee.say(refusal(error))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
