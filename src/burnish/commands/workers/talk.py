"""How a command talks with a process that it starts: lines of JSON, which are events, an error, or answers."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from burnish.errors import BurnishError
from burnish.launch.local import run_worker
from burnish.launch.module_path import find_modules_here
from burnish.run.record.ending import error_of, refusal
from burnish.run.record.events_file import from_dict, to_dict
from burnish.spec.events import Event, Noted


def ask(
    argv: Sequence[str], *, watch: Callable[[Event], None], launch: Callable[..., int] = run_worker
) -> tuple[int, list[dict[str, Any]]]:
    """Stay with a process to its end: pass on its events, raise the error it ends with, return code and answers."""
    answers: list[dict[str, Any]] = []
    errors: list[BurnishError] = []

    def hear(line: str) -> None:
        try:
            values = json.loads(line)
            error, found = error_of(values), values.get("answer")
            event = from_dict(values) if error is None and found is None else None
        except (ValueError, TypeError, KeyError, AttributeError):
            sys.stderr.write(line)  # a library's own words, not ours
            return
        if error is not None:
            errors.append(error)
        elif event is not None:
            watch(event)
        else:
            answers.append(found)

    code = launch(argv, on_line=hear)
    if errors and code:  # else one of several ended so, and the next start of all went through
        raise errors[-1]
    return code, answers


def answer(work: Callable[[Sequence[str]], Iterable[Mapping[str, object]]]) -> NoReturn:
    """Be such a process: do the work that the arguments ask for, and print each answer."""
    find_modules_here()
    try:
        for values in work(sys.argv[1:]):
            _say({"answer": values})
    except BurnishError as error:
        _say(refusal(error))
        sys.exit(error.exit_code)
    sys.exit(0)


def note(sentence: str) -> None:
    """Let who started this process know what it does."""
    _say(to_dict(Noted(0, sentence)))


def _say(values: Mapping[str, object]) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()
