"""`burnish predict --format glue`: answers to GLUE's test files, in the form in which they are handed in."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.artifact.locate import find_artifact
from burnish.errors import DataError
from burnish.spec.values import Outcome

if TYPE_CHECKING:
    from burnish.artifact.predictor import Predictor
    from burnish.data.hub import Glue
    from burnish.data.sources.load_glue import PublishedTest
    from burnish.run.prepared import PreparedFolder

_Progress = Callable[[int, int], None]
_SCORES = (0.0, 5.0)
"""Between which numbers STS-B is scored."""


@dataclass(frozen=True)
class Submission:
    """A file to hand in, called as GLUE wants it."""

    name: str
    path: Path
    num_rows: int


def predict_glue(
    target: str,
    *,
    source: str,
    out: Path,
    task: str | None = None,
    trust_code: bool = False,
    progress: _Progress = lambda done, total: None,
) -> list[Submission]:
    """Predict the test files in a folder (or one of them) and write one file to hand in for each."""
    from burnish.artifact.predictor import Predictor
    from burnish.data.sources.load_glue import read_tests

    glue = _trained_on(target, task, trust_code=trust_code)
    tests = read_tests(glue.set, source)
    paths = _paths(out, tests)
    predictor = Predictor.load(find_artifact(target), task=task, trust_code=trust_code)
    written: list[Submission] = []
    for name, test in tests.items():
        _write(paths[name], _lines(predictor, test, progress=progress))
        written.append(Submission(name, paths[name], len(test.rows)))
    return written


def _trained_on(target: str, task: str | None, *, trust_code: bool) -> "Glue":
    from burnish.artifact.bundle import EXPERIMENT
    from burnish.config import load
    from burnish.data.hub import Glue
    from burnish.run.prepared import PreparedFolder
    from burnish.spec.parts import ALONE, parts_of

    parts = parts_of(load(str(find_artifact(target) / EXPERIMENT), trust_code=trust_code).experiment)
    if (task or ALONE) not in parts:
        raise DataError(f"{target} needs --task to say which of its sets is meant: {', '.join(filter(None, parts))}")
    data = parts[task or ALONE].data
    source = _prepared_from(data, target, trust_code=trust_code) if isinstance(data, PreparedFolder) else data
    if not isinstance(source, Glue):
        raise DataError(
            f"{target} was not trained on a set of GLUE (data.type: glue), so it has no GLUE test files; "
            f"predict other files without --format glue"
        )
    return source


def _prepared_from(data: "PreparedFolder", target: str, *, trust_code: bool) -> object:
    """Find out which data was prepared, of which the folder keeps a record."""
    from burnish.config import load
    from burnish.run.prepared import EXPERIMENT
    from burnish.storage import manifest

    wrong = manifest.fault(Path(os.path.expanduser(data.dir)))
    if wrong is not None:
        raise DataError(
            f"{target} was trained from {data.dir}, which records what data it was prepared from and is no longer "
            f"a complete folder of prepared data: {wrong}"
        )
    return load(str(Path(os.path.expanduser(data.dir)) / EXPERIMENT), trust_code=trust_code).experiment.data


def _paths(out: Path, tests: "Mapping[str, PublishedTest]") -> dict[str, Path]:
    if out.suffix != ".tsv":
        return {name: out / f"{name}.tsv" for name in tests}
    if len(tests) > 1:
        raise DataError(f"{out} is one file, and {', '.join(tests)} make {len(tests)}; give a folder with --out")
    return dict.fromkeys(tests, out)


def _lines(predictor: "Predictor", test: "PublishedTest", *, progress: _Progress) -> str:
    table = test.rows.table.select(list(predictor.input_columns))
    outcome = predictor.outcome(table, held=test.rows.held, progress=progress)
    answers = zip(test.indices.to_pylist(), _answers(outcome), strict=True)
    return "".join(f"{index}\t{answer}\n" for index, answer in [("index", "prediction"), *answers])


def _answers(outcome: "Outcome") -> list[str]:
    from burnish.artifact.tables import words

    if outcome.kind != "regression":
        return words(outcome.decisions, outcome)
    low, high = _SCORES
    return [f"{min(max(float(value), low), high):.3f}" for value in outcome.decisions]


def _write(path: Path, text: str) -> None:
    from burnish.durable import write_durably

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_durably(path, text.encode())
    except OSError as error:
        raise DataError(f"{path} could not be written: {error.strerror or error}") from error
