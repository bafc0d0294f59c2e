"""Studies for real: trials are runs, rungs resume, failures are replaced, and a study goes on where it stood."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path

import pytest

from burnish.cli.main import run as burnish
from burnish.commands import tune as command
from burnish.commands.config import check
from burnish.commands.tune import TuneResult, prepare_search, tune
from burnish.engine.stop import StopRequest
from burnish.errors import CheckpointError, ConfigError
from burnish.run.record.directory import RunDirectory, find_run
from burnish.run.record.events_file import EventsFile
from burnish.run.record.plan import read_plan, settle_plan
from burnish.run.record.result import RunResult
from burnish.spec.events import Started
from burnish.spec.search import Coordinates, Searcher, SearchState
from burnish.tuning import study as module
from burnish.tuning.forks import TrialStarter
from burnish.tuning.record import EndedLeg, StudyRecord, read_record
from burnish.tuning.space import RangeParameter
from tests.studies import make_study, outcome


def run(files: tuple[Path, Path], name: str, *overrides: str, **settings: object) -> TuneResult:
    experiment, space = files
    search = prepare_search(
        str(experiment),
        configs=[space],
        overrides=overrides,
        directory=experiment.parent / name,
        settings=settings,
    )
    return tune(search, request=StopRequest())


@pytest.fixture(scope="module", autouse=True)
def _shared_process() -> Iterator[None]:
    """Fork the trials of all these studies from one process, which imports torch once."""
    with TrialStarter() as starter, pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_choose_starter", lambda environment, model, stopping: nullcontext(starter))
        yield


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_study(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def study(files: tuple[Path, Path]) -> TuneResult:
    return run(files, "first", trials=3)


def steps_at_start(directory: Path) -> Sequence[int]:
    records = EventsFile(directory / "events.jsonl").read()
    return [record.event.step for record in records if isinstance(record.event, Started)]


def test_a_study_is_its_best_run(study: TuneResult) -> None:
    assert study.ending == "finished"
    assert [row.state for row in study.trials] == ["finished"] * 3
    assert study.best is not None
    assert study.best.score == min(row.score for row in study.trials if row.score is not None)
    assert study.metric == "validation/log_loss"
    assert find_run(study.directory).path == study.best_run == study.directory / study.best.run
    table, digest = outcome(study.directory)
    assert digest is not None
    assert [row["score"] for row in table["trials"]] == [row.score for row in study.trials]
    assert "Leaders" in (study.directory / "report.html").read_text()


def test_a_study_is_extended_and_what_was_tried_stays(files: tuple[Path, Path], study: TuneResult) -> None:
    longer = run(files, "first", trials=5)
    assert longer.trials[:3] == study.trials
    assert len(longer.trials) == 5


def test_a_changed_experiment_or_space_is_refused_with_the_difference(files: tuple[Path, Path]) -> None:
    run(files, "kept", trials=1)
    with pytest.raises(ConfigError, match=r"experiment.train.length 4 epochs → 3 epochs"):
        run(files, "kept", "train.length=3 epochs", trials=1)
    with pytest.raises(ConfigError, match=r"space.optimizer.learning_rate.max 0.1 → 1.0"):
        run(files, "kept", "tune.space.optimizer.learning_rate.max=1", trials=1)


def test_a_promoted_trial_goes_on_from_its_checkpoint(files: tuple[Path, Path]) -> None:
    found = run(files, "asha", "tune.searcher={type: asha, divisor: 2}", "train.length=4 epochs", trials=4)
    states = [row.state for row in found.trials]
    assert states.count("finished") >= 1
    assert states.count("paused") >= 1
    best = found.directory / str(found.best.run if found.best else "")
    starts = steps_at_start(best)
    assert len(starts) > 1
    assert all(before < after for before, after in pairwise(starts))


def test_a_failed_trial_is_recorded_as_worst_and_replaced(files: tuple[Path, Path]) -> None:
    space = "tune.space.model=[linear, {type: 'tests.tiny_table_torch:Broken'}]"
    found = run(files, "broken", space, "tune.searcher=random", trials=2, max_failed_trials=20, seed=5)
    states = [row.state for row in found.trials]
    assert states.count("finished") == 2
    assert states.count("failed") >= 1
    assert all(row.why for row in found.trials if row.state == "failed")


class InOrder(Searcher):
    """A searcher of one's own: each option of the last choice, in order, then the first again."""

    def sample(self, state: SearchState, number: int) -> Coordinates:
        *others, last = (parameter.name for parameter in state.space.parameters())
        return {**dict.fromkeys(others, 0.0), last: float(number if number < 3 else 0)}


def test_a_searcher_of_ones_own_meets_trials_that_are_no_numbers_or_too_large(files: tuple[Path, Path]) -> None:
    own = f"tune.searcher={{type: '{__name__}:InOrder'}}"
    bad = [f"{{type: 'tests.tiny_table_torch:{name}'}}" for name in ("Undefined", "Hungry")]
    models = f"tune.space={{model: [linear, {', '.join(bad)}]}}"
    found = run(files, "own", own, models, "train.length=1 epoch", trials=3, max_failed_trials=2)
    assert [row.state for row in found.trials] == ["finished", "failed", "failed", "finished", "finished"]
    assert "nan" in found.trials[1].why
    assert "out of memory" in found.trials[2].why


def test_a_repeated_point_is_answered_from_the_record(files: tuple[Path, Path]) -> None:
    found = run(files, "few", "tune.space.optimizer.learning_rate=[0.01]", trials=5)
    assert len({row.run for row in found.trials}) == 2
    assert len({row.score for row in found.trials}) == 2
    assert sum(len(steps_at_start(found.directory / name)) for name in {row.run for row in found.trials}) == 2


def test_trials_begin_where_an_earlier_study_was_best(files: tuple[Path, Path], study: TuneResult) -> None:
    found = run(files, "second", trials=2, start_from=[str(study.directory)], seed=9)
    table, _ = outcome(study.directory)
    assert found.trials[0].values == table["best"]["values"]
    assert found.trials[0].score == table["best"]["score"]


def test_the_default_space_begins_with_the_experiment_as_it_is(files: tuple[Path, Path]) -> None:
    search = prepare_search(str(files[0]), directory=files[0].parent / "usual", settings={"trials": 2})
    found = tune(search, request=StopRequest())
    assert found.trials[0].values == {}
    assert set(found.trials[1].values) == {"optimizer.learning_rate", "optimizer.weight_decay"}


def test_the_default_space_reaches_to_both_sides_of_a_rate_that_was_written(files: tuple[Path, Path]) -> None:
    search = prepare_search(str(files[0]), overrides=["optimizer.learning_rate=0.3"])
    (rate, decay) = search.space.parameters()
    assert isinstance(rate, RangeParameter)
    assert isinstance(decay, RangeParameter)
    assert (rate.low, rate.high) == (pytest.approx(1e-3), pytest.approx(0.9))
    assert (decay.low, decay.high) == (1e-4, 0.1)


def test_two_trials_at_once_do_nothing_twice(files: tuple[Path, Path]) -> None:
    found = run(files, "parallel", trials=5, parallel=2)
    lines = [json.loads(line) for line in (found.directory / "study.jsonl").read_text().splitlines()]
    ended = [line["end"] for line in lines if "end" in line]
    assert sorted(ended) == list(range(5))


def test_the_best_is_trained_again_on_all_rows_that_chose_it(files: tuple[Path, Path]) -> None:
    older = RunDirectory(files[0].parent / "refitted" / "refit")
    settle_plan(older, check(str(files[0]), overrides=["train.length=1 epoch"]))
    (older.checkpoints / "step-1").mkdir(parents=True)  # as when another trial was best before
    (files[0].parent / "refitted" / "study.jsonl").touch()
    found = run(files, "refitted", trials=2, refit=True)
    assert str(read_plan(RunDirectory(older.path.with_name("refit.old-1"))).train.length) == "1 epoch"
    assert found.best_run == found.directory / "refit"
    started = EventsFile(found.directory / "refit" / "events.jsonl").last(Started)
    assert started is not None
    assert isinstance(started.event, Started)
    assert started.event.facts["train_rows"] == 160
    assert find_run(found.directory).path == found.best_run


def test_a_preview_tries_a_few_steps_and_leaves_nothing(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    experiment, space = files
    asked = [
        "tune",
        str(experiment),
        "-c",
        str(space),
        "tune.trials=null",
        "--minutes",
        "30",
        "--dir",
        str(tmp_path / "s"),
    ]
    assert burnish([*asked, "--preview", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["trials"] > 1
    assert found["total_evaluations"] == 4 * found["trials"]
    assert 29 < found["minutes"] < 30 + 1e-9  # a sum of seconds
    assert not (tmp_path / "s").exists()


HPTUNING = """\
trainingInput:
  args: [--num-epochs=2]
  hyperparameters:
    goal: MINIMIZE
    hyperparameterMetricTag: loss
    maxTrials: 2
    algorithm: RANDOM_SEARCH
    params:
      - {parameterName: learning-rate, type: DOUBLE, minValue: 1e-3, maxValue: 1e-1, scaleType: UNIT_LOG_SCALE}
      - {parameterName: flavour, type: INTEGER, minValue: 1, maxValue: 3}
"""


def test_the_config_of_another_tool_is_searched_as_it_is(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    foreign = tmp_path / "hptuning_config.yaml"
    foreign.write_text(HPTUNING)
    asked = ["--from", str(foreign), "train.batch=16"]
    assert burnish(["tune", str(files[0]), *asked, "--dir", str(tmp_path / "study"), "--quiet"]) == 0
    assert "hptuning_config.yaml:10 flavour: not mapped" in capsys.readouterr().err
    table, _ = outcome(tmp_path / "study")
    assert [list(row["values"]) for row in table["trials"]] == [["optimizer.learning_rate"]] * 2
    assert str(read_plan(RunDirectory(tmp_path / "study" / "trial-0001")).train.length) == "2 epochs"
    assert burnish(["tune", *asked]) == 2  # it says nothing of the data
    assert "task is required" in capsys.readouterr().err
    assert burnish(["tune"]) == 2
    assert "name an experiment" in capsys.readouterr().err


def test_a_study_of_edited_data_is_neither_continued_nor_refitted(tmp_path: Path) -> None:
    files = make_study(tmp_path)
    data = tmp_path / "data.csv"
    before, first = data.read_bytes(), run(files, "edited", trials=1)
    data.write_bytes(before.replace(b"yes", b"no", 60))
    refused = re.escape(f"the data of {first.directory} is not what its trials were trained on")
    for settings in ({"trials": 2}, {"trials": 1}, {"trials": 1, "refit": True}):
        with pytest.raises(CheckpointError, match=refused) as found:
            run(files, "edited", **settings)
        assert found.value.exit_code == 5
        assert f"{data} was changed" in str(found.value)
        assert f"--start-from {first.directory}" in str(found.value)
    assert len(read_record(first.directory).trials) == 1
    assert not (first.directory / "refit").exists()
    data.write_bytes(before)
    assert len(run(files, "edited", trials=2).trials) == 2


def test_a_study_that_did_not_record_its_data_is_read_and_held_to_that_of_its_trials(tmp_path: Path) -> None:
    files = make_study(tmp_path)
    study = run(files, "old", trials=1).directory / "study.jsonl"
    about, *lines = study.read_text().splitlines(keepends=True)
    values = json.loads(about)
    assert list(values.pop("data")) == [str(tmp_path / "data.csv")]
    study.write_text("".join([json.dumps(values) + "\n", *lines]))
    assert len(run(files, "old", trials=2).trials) == 2
    (tmp_path / "data.csv").write_text((tmp_path / "data.csv").read_text().replace("yes", "no", 60))
    with pytest.raises(CheckpointError, match=r"data\.csv was changed"):
        run(files, "old", trials=3)
    for trial in study.parent.glob("trial-*"):  # as of versions that wrote no digests at all
        (trial / "data.json").unlink()
    assert len(run(files, "old", trials=3).trials) == 3


def test_an_edit_while_a_study_works_ends_it_and_joins_no_scores(tmp_path: Path) -> None:
    files = make_study(tmp_path)
    data = tmp_path / "data.csv"
    before = data.read_bytes()
    search = prepare_search(
        str(files[0]), configs=[files[1]], directory=tmp_path / "moving", settings={"trials": 3, "parallel": 1}
    )

    def edit(record: StudyRecord, ended: EndedLeg, seconds_left: float) -> None:
        data.write_bytes(before.replace(b"yes", b"no", 60))

    with pytest.raises(CheckpointError, match=r"trial-0001 was trained on that, and is in .*trial-0001\.old-1 now"):
        tune(search, tell=edit, request=StopRequest())
    assert [end.trial for end in read_record(tmp_path / "moving").ends] == [0]
    data.write_bytes(before)
    ended = run(files, "moving", trials=3)
    assert [trial.state for trial in ended.trials] == ["finished"] * 3
    whole = run(files, "still", trials=3)
    assert [trial.score for trial in ended.trials] == [trial.score for trial in whole.trials]


def test_an_edit_between_the_legs_of_a_trial_is_no_failure_of_it(tmp_path: Path) -> None:
    files = make_study(tmp_path)
    data = tmp_path / "data.csv"
    before = data.read_bytes()
    asha = "tune.searcher={type: asha, divisor: 2, max_rungs: 2}"
    search = prepare_search(
        str(files[0]), configs=[files[1]], overrides=[asha], directory=tmp_path / "legs", settings={"trials": 4}
    )

    def edit(record: StudyRecord, ended: EndedLeg, seconds_left: float) -> None:
        if len(record.trials) == 4 and len(record.ends) == 4:
            data.write_bytes(before.replace(b"yes", b"no", 60))

    with pytest.raises(CheckpointError, match=r"data\.csv was changed"):
        tune(search, tell=edit, request=StopRequest())
    assert {end.state for end in read_record(tmp_path / "legs").ends} == {"paused"}
    data.write_bytes(before)
    assert "finished" in {trial.state for trial in run(files, "legs", asha, trials=4).trials}


def test_a_refit_of_data_that_is_edited_meanwhile_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = make_study(tmp_path)
    data = tmp_path / "data.csv"
    before, train = data.read_bytes(), command.continue_run

    def edit(place: RunDirectory, **options: object) -> RunResult:
        data.write_bytes(before.replace(b"yes", b"no", 60))
        return train(place, **options)  # type: ignore[arg-type]  # those of a refit

    monkeypatch.setattr(command, "continue_run", edit)
    with pytest.raises(CheckpointError, match=r"refit was trained on that, and is in .*refit\.old-1 now"):
        run(files, "again", trials=1, refit=True)
    data.write_bytes(before)
    monkeypatch.setattr(command, "continue_run", train)
    assert run(files, "again", trials=1, refit=True).best_run == tmp_path / "again" / "refit"


def test_trials_may_read_other_files_where_the_space_says_so(tmp_path: Path) -> None:
    files = make_study(tmp_path)
    (tmp_path / "more.csv").write_bytes((tmp_path / "data.csv").read_bytes())
    space = [str(tmp_path / name) for name in ("data.csv", "more.csv")]
    files[1].write_text(f"tune: {{searcher: grid, space: {{data.train: {space}}}}}\n")
    assert [trial.state for trial in run(files, "choice").trials] == ["finished"] * 2
    (tmp_path / "more.csv").write_text("a,b,c,y\n")
    assert [trial.state for trial in run(files, "choice").trials] == ["finished"] * 2  # nothing is trained of it
