"""Contestants as threads of the test's own process: the real work, without waiting for processes to start."""

import importlib
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from queue import Queue
from typing import Any

from bench.harness.blocks import Block
from bench.harness.contest import Entrant

WAIT_SECONDS = 60


class QueueReferee:
    """Speak with a contestant over two queues, and let nobody work out of turn."""

    def __init__(self) -> None:
        self.asks: Queue[bool] = Queue()
        self.answers: Queue[Any] = Queue()

    def ready(self) -> None:
        self.answers.put("ready")

    def turn(self) -> bool:
        return self.asks.get(timeout=WAIT_SECONDS)

    def report(self, block: Block) -> None:
        self.answers.put(block)

    def repeat(self, work: Callable[[], object], *, lengths: Any) -> None:
        from bench.harness.contestant import Referee

        Referee.repeat(self, work, lengths=lengths)  # type: ignore[arg-type]  # it is all that a referee is


@contextmanager
def started(entrants: Mapping[str, Entrant]) -> Iterator[dict[str, Callable[[], Block]]]:
    """Stand in for `bench.harness.contest.started`."""
    referees = {name: _begun(entrant) for name, entrant in entrants.items()}
    yield {name: lambda referee=referee: _turn(referee) for name, (referee, _) in referees.items()}
    for referee, thread in referees.values():
        referee.asks.put(False)
        thread.join(WAIT_SECONDS)


def _begun(entrant: Entrant) -> tuple[QueueReferee, threading.Thread]:
    module, _, name = entrant.address.partition(":")
    referee = QueueReferee()

    def work() -> None:
        try:
            getattr(importlib.import_module(module), name)(entrant.request, referee)
        except BaseException as error:
            referee.answers.put(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    _heard(referee)
    return referee, thread


def _turn(referee: QueueReferee) -> Block:
    referee.asks.put(True)
    return _heard(referee)


def _heard(referee: QueueReferee) -> Any:
    answer = referee.answers.get(timeout=WAIT_SECONDS)
    if isinstance(answer, BaseException):
        raise answer
    return answer
