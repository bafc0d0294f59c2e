"""`burnish predict --format glue`: answers to GLUE's test files, in the form in which they are handed in."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.artifact.locate import EngineChoice, find_artifact
from burnish.durable import write_durably, writing_to
from burnish.errors import DataError

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
    engine: EngineChoice = "torch",
    progress: _Progress = lambda done, total: None,
) -> list[Submission]:
    """Predict the test files in a folder (or one of them) and write one file to hand in for each."""
    from burnish.artifact.predictor import Predictor
    from burnish.data.sources.load_glue import read_tests

    glue = _find_set(target, task, trust_code=trust_code)
    tests = read_tests(glue.set, source)
    paths = _name_files(out, tests)
    predictor = Predictor.load(find_artifact(target), task=task, trust_code=trust_code, engine=engine)
    written: list[Submission] = []
    for name, test in tests.items():
        lines = "".join(_predict(predictor, test, progress=progress))
        with writing_to(paths[name]):
            write_durably(paths[name], lines.encode())
        written.append(Submission(name, paths[name], len(test.rows)))
    return written


def _find_set(target: str, task: str | None, *, trust_code: bool) -> "Glue":
    from burnish.artifact.bundle import EXPERIMENT
    from burnish.config import load
    from burnish.data.hub import Glue
    from burnish.run.prepared import PreparedFolder
    from burnish.spec.parts import ALONE, divide_tasks

    parts = divide_tasks(load(str(find_artifact(target) / EXPERIMENT), trust_code=trust_code).experiment)
    if (task or ALONE) not in parts:
        raise DataError(f"{target} needs --task to say which of its sets is meant: {', '.join(filter(None, parts))}")
    data = parts[task or ALONE].data
    source = _read_origin(data, target, trust_code=trust_code) if isinstance(data, PreparedFolder) else data
    if not isinstance(source, Glue):
        raise DataError(
            f"{target} was not trained on a set of GLUE (data.type: glue), so it has no GLUE test files; "
            f"predict other files without --format glue"
        )
    return source


def _read_origin(data: "PreparedFolder", target: str, *, trust_code: bool) -> object:
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


def _name_files(out: Path, tests: "Mapping[str, PublishedTest]") -> dict[str, Path]:
    if out.suffix != ".tsv":
        return {name: out / f"{name}.tsv" for name in tests}
    if len(tests) > 1:
        raise DataError(f"{out} is one file, and {', '.join(tests)} make {len(tests)}; give a folder with --out")
    return dict.fromkeys(tests, out)


def _predict(predictor: "Predictor", test: "PublishedTest", *, progress: _Progress) -> Iterator[str]:
    from burnish.artifact.tables import words

    table = test.rows.table.select(list(predictor.input_columns))
    outcome = predictor.outcome(table, held=test.rows.held, progress=progress)
    if outcome.kind == "regression":
        low, high = _SCORES
        answers = [f"{min(max(float(value), low), high):.3f}" for value in outcome.decisions]
    else:
        answers = words(outcome.decisions, outcome)
    yield "index\tprediction\n"
    yield from (f"{index}\t{answer}\n" for index, answer in zip(test.indices.to_pylist(), answers, strict=True))
