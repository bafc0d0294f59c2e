"""Judges what a command made of hostile input: a documented exit code, a sentence, nothing executed, nothing lost."""

import hashlib
import io
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from burnish.cli.main import BUG, run

IS_FULL = os.environ.get("BURNISH_FAULTS") == "full"
"""Whether there is time for thousands of cases, as in `make faults`."""

_EXIT_CODES = Path(__file__).parents[2] / "docs" / "reference" / "exit-codes.md"
_MAX_SENTENCE = 20_000
DOCUMENTED = frozenset(map(int, re.findall(r"^\| (\d+) \|", _EXIT_CODES.read_text(encoding="utf-8"), re.MULTILINE)))


@dataclass(frozen=True)
class Outcome:
    """What a command came to, after it was judged."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Canary:
    """A module that leaves a file when anybody imports it; and the file."""

    module: str
    trace: Path

    @property
    def address(self) -> str:
        """An address in that module, as a config would name it."""
        return f"{self.module}:Thing"

    def is_alive(self) -> bool:
        """Tell whether nothing of the module has run."""
        return not self.trace.exists()


def plant(folder: Path, *, module: str = "strange_code") -> Canary:
    """Write a module whose import leaves a trace; the caller puts the folder on the path."""
    folder.mkdir(parents=True, exist_ok=True)
    trace = folder / "EXECUTED"
    (folder / f"{module}.py").write_text(f"open({str(trace)!r}, 'w').close()\n", encoding="utf-8")
    return Canary(module, trace)


def judge(
    argv: Sequence[str | Path],
    *,
    keeps: Sequence[Path] = (),
    canary: Canary | None = None,
    call: Callable[[Sequence[str]], int] = run,
) -> Outcome:
    """Call the command line in this process, assert what must hold whatever it was given, and give what it said.

    `keeps` are folders or files of which no content may be lost: it may be moved, as into quarantine, not changed.
    """
    before = contents(keeps)
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = call([str(each) for each in argv])
    if "torch" in sys.modules:
        sys.modules["torch"].set_flush_denormal(False)  # numbers too small for hypothesis to be without
    outcome = Outcome(code, out.getvalue(), err.getvalue())
    assert code in DOCUMENTED - {BUG}, f"exit code {code} of {argv}: {outcome.err}"
    assert "Traceback" not in outcome.out + outcome.err, outcome.err
    assert code == 0 or is_sentence(outcome.err), f"exit code {code} without a sentence: {outcome.err!r}"
    assert canary is None or canary.is_alive(), f"{argv} ran code that nobody trusted"
    lost = before.keys() - contents(keeps).keys()
    assert not lost, f"{argv} lost {', '.join(before[each] for each in lost)}"
    return outcome


def is_sentence(text: str) -> bool:
    """Tell whether standard error says in words, and not at endless length, what was wrong."""
    said = re.search(r"^error: (\S.*)$", text, re.MULTILINE)
    return said is not None and len(said[1].split()) >= 3 and len(text) <= _MAX_SENTENCE


def contents(places: Sequence[Path]) -> Mapping[str, str]:
    """Give the digest of everything that these files, and those below these folders, hold, with a name for it."""
    files = [file for place in places for file in ([place] if place.is_file() else place.rglob("*")) if file.is_file()]
    return {hashlib.sha256(file.read_bytes()).hexdigest(): str(file) for file in files}
