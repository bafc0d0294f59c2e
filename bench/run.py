"""`make bench`: every measurement in turn; each prints one table or one line."""

import runpy
import sys
from pathlib import Path

HERE = Path(__file__).parent
SHARED = HERE.parents[1] / "shared" / "data"


def main() -> None:
    """Run what needs nothing, then what needs the real data sets, saying what is left out."""
    _run("checkpoints.py")
    if not SHARED.is_dir():
        print(f"left out: the quality tables, for the real data sets are not at {SHARED}")
        return
    _run("quality.py", "glue", "--data", str(SHARED))
    _run("quality.py", "imdb", "--data", str(SHARED))


def _run(name: str, *arguments: str) -> None:
    sys.argv = [name, *arguments]
    runpy.run_path(str(HERE / name), run_name="__main__")


if __name__ == "__main__":
    main()
