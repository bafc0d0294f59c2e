"""Runs and studies with odd numbers and types in their records: every page and command still says something of them."""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from random import Random

import pytest
from starlette.testclient import TestClient

from burnish.commands.train import read_result
from burnish.commands.tune import prepare_search, tune
from burnish.engine.stop import StopRequest
from burnish.run.record.directory import RunDirectory, write_json
from burnish.tuning import study as study_module
from burnish.ui.board import build_board
from tests.adversary.conftest import ROW
from tests.adversary.judge import IS_FULL, Canary, judge
from tests.adversary.mutate import HOSTILE
from tests.adversary.seeds import Seeds, seeds
from tests.adversary.test_folders import spoil
from tests.studies import make_study

pytestmark = pytest.mark.timeout(3600 if IS_FULL else 300)

RECORDS = ("exit.json", "scores.json", "data.json", "profile.json", "insights.json", "events.jsonl", "lock.json")
ODD_NUMBERS = [*(value for value in HOSTILE if isinstance(value, float | int)), "7", "NaN", None, [], {}]


def show_pages(root: Path, *pages: str) -> None:
    """Ask the board for pages over a folder: what it cannot show it refuses in a sentence, and it never breaks."""
    with TestClient(build_board(root), base_url="http://localhost") as board:
        for page in pages:
            answer = board.get(page)
            assert answer.status_code in (200, 404), f"{page}: {answer.status_code}"
            assert "Traceback" not in answer.text
            assert answer.status_code == 200 or len(answer.text.split()) >= 3, f"{page}: {answer.text!r}"


def judge_run(run: Path, original: Path, canary: Canary) -> None:
    """Show a run everywhere that runs are shown."""
    for argv in (["runs", "ls", run.parent], ["runs", "show", run], ["runs", "compare", run, original]):
        judge(argv, keeps=[run], canary=canary)
    judge(["check", run, "--require", "test/accuracy >= 0", "--no-worse-than", original], keeps=[run], canary=canary)
    show_pages(run.parent, "/", "/rows", f"/run?name={run.name}")


@pytest.mark.parametrize("name", RECORDS)
@seeds(few=2, full=600)
def test_runs(original: Path, copy: Callable[[], Path], canary: Canary, name: str, seeds: Seeds) -> None:
    @seeds.each(f"shown {name}")
    def case(draw: Random) -> None:
        run = copy()
        (run / "lock.json").write_text(json.dumps({"pid": 1, "host": "elsewhere", "heartbeat": 1.0}))
        spoil(run / name, draw)
        judge_run(run, original, canary)


@pytest.mark.parametrize("field", ["reason", "step", "seconds", "memory_bytes"])
def test_every_number_of_an_ending(copy: Callable[[], Path], field: str) -> None:
    run = copy()
    ending = json.loads((run / "exit.json").read_text())
    for value in ODD_NUMBERS:
        (run / "exit.json").write_text(json.dumps({**ending, field: value}))
        show_pages(run.parent, f"/run?name={run.name}")
        assert read_result(RunDirectory(run)).seconds >= 0


class FailingTrials:
    """Stands for the workers: every trial fails at once."""

    def start(self, run: Path, options: Sequence[str], *, cores: Sequence[int], log: Path) -> Iterator[str]:
        write_json(RunDirectory(run).exit, {"reason": "failed", "message": "it is not trained here"})
        yield from ()


@pytest.fixture(scope="session")
def search(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study that has ended, beside its experiment and its space."""
    root = tmp_path_factory.mktemp("search")
    experiment, space = make_study(root, searcher="{type: asha, divisor: 2, max_rungs: 2}", trials=3)
    search = prepare_search(
        str(experiment), configs=[space], overrides=["train.length=2 epochs"], directory=root / "study"
    )
    tune(search, request=StopRequest())
    return root


@pytest.fixture
def _no_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_module, "_choose_starter", lambda *_: nullcontext(FailingTrials()))


def judge_study(search: Path, root: Path, canary: Canary) -> None:
    """Read a study everywhere that studies are read, and go on with it."""
    study = root / "study"
    show_pages(root, "/", "/study?name=study", "/run?name=study/trial-0000")
    words = ["tune", search / "experiment.yaml", "-c", search / "space.yaml", "train.length=2 epochs", "--quiet"]
    judge([*words, "--dir", study, "--trials", "4"], canary=canary)
    if IS_FULL:
        judge([*words, "--dir", root / "new", "--start-from", study, "--trials", "1"], canary=canary)


@pytest.mark.parametrize("name", ["study.jsonl", "study.json", "trial-0000/exit.json", "trial-0001/events.jsonl"])
@pytest.mark.usefixtures("_no_trials")
@seeds(few=2, full=800)
def test_studies(search: Path, tmp_path: Path, canary: Canary, name: str, seeds: Seeds) -> None:
    @seeds.each(f"study {name}")
    def case(draw: Random) -> None:
        root = tmp_path / "studies"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(search / "study", root / "study")
        spoil(root / "study" / name, draw)
        judge_study(search, root, canary)
        for argv in (["runs", "ls", root], ["runs", "show", root / "study"], ["predict", root / "study", "--row", ROW]):
            judge(argv, canary=canary)


LINES = {
    "end": ["end", "until", "state", "score", "low", "high", "test", "curve", "why", "at", "metric", "passed"],
    "trial": ["trial", "point", "values", "run"],
    "study": ["study", "experiment", "space", "searcher", "metric", "seed", "starts", "evaluations", "trials", "data"],
}
FIELDS = [(kind, field) for kind, fields in LINES.items() for field in fields]


@pytest.mark.parametrize(("kind", "field"), FIELDS, ids=["-".join(each) for each in FIELDS])
@pytest.mark.usefixtures("_no_trials")
def test_every_field_of_a_study(search: Path, tmp_path: Path, canary: Canary, kind: str, field: str) -> None:
    draw = Random(f"{kind} {field}")
    for value in HOSTILE if IS_FULL else draw.sample(HOSTILE, 1):
        root = tmp_path / "studies"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(search / "study", root / "study")
        path = root / "study" / "study.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        next(each for each in lines if kind in each)[field] = value
        path.write_text("".join(json.dumps(each) + "\n" for each in lines))
        judge_study(search, root, canary)
