"""The process that foresees: told a directory with a plan and where the run would be, it prints a forecast."""

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.errors import BurnishError
from burnish.launch.module_path import find_modules_here
from burnish.run.record.directory import RunDirectory
from burnish.run.record.ending import refusal
from burnish.run.record.events_file import to_dict
from burnish.run.record.plan import read_plan
from burnish.spec.events import Noted

if TYPE_CHECKING:
    from burnish.run.attempt import Trained


STEPS_ONLY = "--steps-only"


def main(argv: list[str]) -> int:
    """Print notes on the way as events, and the forecast in the last line."""
    find_modules_here()
    run, place, launched = RunDirectory(Path(argv[0])), Path(argv[1]), float(argv[2])
    try:
        from burnish.run.forecast import forecast

        imported = time.time() - launched
        finish = None if STEPS_ONLY in argv else _finish
        found = forecast(read_plan(run), run, place=place, tell=_tell, finish=finish, imported=imported)
    except BurnishError as error:
        _say(refusal(error))
        return error.exit_code
    _say({"forecast": asdict(found)})
    return 0


def _finish(trained: "Trained") -> None:
    from burnish.report.build import compare, write_page
    from burnish.run.finish import finish

    compare(trained, finish(trained))
    write_page(trained.run.directory)


def _tell(sentence: str) -> None:
    _say(to_dict(Noted(0, sentence)))


def _say(values: Mapping[str, object]) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
