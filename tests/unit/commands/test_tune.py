"""What a study will take, and where its first trials stand, told before anything is trained."""

import json
import math
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from burnish.cli.tune import preview_lines
from burnish.commands import tune as module
from burnish.commands.train import read_result
from burnish.commands.tune import PreparedSearch, _settle_record, prepare_search
from burnish.engine.stop import StopRequest
from burnish.errors import CheckpointError, ConfigError
from burnish.run.record.directory import RunDirectory, read_json, write_json
from burnish.run.record.events_file import EventsFile
from burnish.run.record.plan import settle_plan
from burnish.run.record.result import RunResult
from burnish.spec.events import Ended, Event, Noted, Stepped
from burnish.spec.forecast import Footprint, Forecast, Timing
from burnish.tuning.preview import SearchPreview, estimate
from burnish.tuning.record import EndedLeg, Trial, read_record
from burnish.tuning.space import Settled
from tests.studies import make_study

# A trial: 1 s to start, 8 epochs of 10 steps of 0.1 s with an evaluation of 0.25 s each, 1 s to finish: 12 s.
TRIAL = Forecast(
    {"batches_per_epoch": 10},
    tokens_per_epoch=0,
    steps=80,
    evaluations=8,
    timing=Timing(0.1, {"validation": 0.25}, start_seconds=1.0, finish_seconds=1.0),
    footprint=Footprint(10**9, None, 10**6, 10**7, 10**10),
    seconds=12.0,
)


def search_of(tmp_path: Path, *overrides: str, **settings: object) -> PreparedSearch:
    experiment, space = make_study(tmp_path)
    given = ["train.length=8 epochs", "tune.trials=null", *overrides]
    return prepare_search(
        str(experiment), configs=[space], overrides=given, directory=tmp_path / "study", settings=settings
    )


def preview(search: PreparedSearch) -> SearchPreview:
    return estimate(search.settings, search.space, trial=TRIAL)


def told(found: SearchPreview) -> str:
    return "\n".join(map(str, preview_lines(found)))


def test_a_preview_counts_trials_and_epochs_and_what_they_take(tmp_path: Path) -> None:
    found = preview(search_of(tmp_path, trials=10, parallel=2))
    assert (found.trials, found.total_evaluations, found.is_cut) == (10, 80, False)
    assert found.minutes == pytest.approx(1.0)
    assert found.memory_bytes == 2 * 10**9
    assert "epochs      about 80.0 in all" in told(found)


def test_a_preview_of_rungs_says_how_many_trials_reach_each(tmp_path: Path) -> None:
    found = preview(search_of(tmp_path, "tune.searcher={type: asha, divisor: 2, max_rungs: 3}", trials=16))
    assert found.trials == 16
    assert [rung["evaluations"] for rung in found.rungs] == [2, 6, 8]
    reached = [rung["trials"] for rung in found.rungs]
    assert reached[0] == 16 > reached[1] > reached[2] > 0
    assert found.total_evaluations == 2 * reached[0] + 4 * reached[1] + 2 * reached[2]
    assert "  to evaluation 2: 16 trials" in told(found)


def test_a_preview_of_minutes_says_how_many_trials_fit(tmp_path: Path) -> None:
    found = preview(search_of(tmp_path, minutes=30, parallel=2))
    assert (found.trials, found.is_cut) == (2 * 30 * 60 // 12, True)
    assert found.minutes == pytest.approx(30)
    assert "trials      300 before time is up" in told(found)
    assert preview(search_of(tmp_path, minutes=2, trials=100)).trials == 10
    odd = preview(search_of(tmp_path, minutes=119.9))  # 599.5 trials
    assert (odd.trials, odd.total_evaluations) == (599, 8 * 599)
    assert not preview(search_of(tmp_path, minutes=2, trials=3)).is_cut


@pytest.mark.parametrize("searcher", ["tpe", "{type: asha, divisor: 2}", "adaptive_asha"])
def test_a_preview_of_half_a_day_is_quick_and_like_that_of_an_hour(tmp_path: Path, searcher: str) -> None:
    hour = preview(search_of(tmp_path, f"tune.searcher={searcher}", minutes=60))
    began = time.process_time()
    half = preview(search_of(tmp_path, f"tune.searcher={searcher}", minutes=12 * 60))
    assert time.process_time() - began < 1.0
    assert half.trials == pytest.approx(12 * hour.trials, rel=0.15)
    assert half.minutes == pytest.approx(12 * 60, rel=0.01)


def write_study(directory: Path, search: PreparedSearch, *trials: tuple[dict[str, object], float]) -> Path:
    """Write what a study leaves that others start from: its table, and the plans of its runs."""
    rows = [
        {"number": number, "values": values, "state": "finished", "score": score, "run": f"trial-{number:04d}"}
        for number, (values, score) in enumerate(trials)
    ]
    for row in rows:
        settle_plan(RunDirectory(directory / str(row["run"])), search.plan(Settled({}, (), {})))
    write_json(directory / "study.json", {"is_lower_better": True, "trials": rows})
    return directory


def begin(search: PreparedSearch) -> tuple[list[object], list[str]]:
    """Settle the record of a study: its starts as options, and what was told."""
    said: list[str] = []
    starts = _settle_record(read_record(search.directory), search, watch=lambda event: said.append(event.message))  # type: ignore[attr-defined]  # only notes are told
    return [dict(search.space.at(each).values) for each in starts], said


RATE = "optimizer.learning_rate"


def test_a_study_starts_from_an_experiment_that_was_best_as_it_was_written(tmp_path: Path) -> None:
    written = f"{RATE}=0.02", "train.batch=32"
    earlier = write_study(tmp_path / "earlier", search_of(tmp_path, *written), ({}, 0.1), ({RATE: 0.05}, 0.2))
    starts, said = begin(search_of(tmp_path, start_from=[str(earlier)]))
    assert starts == [{RATE: 0.02, "train.batch": 32}, {RATE: 0.05, "train.batch": 32}]
    assert said == []


def test_a_study_tells_that_the_best_of_the_one_before_lies_outside(tmp_path: Path) -> None:
    both = {RATE: 5.0, "train.batch": 32}, {RATE: 0.05, "train.batch": 16}
    earlier = write_study(tmp_path / "earlier", search_of(tmp_path), (both[0], 0.1), (both[1], 0.2))
    starts, (said,) = begin(search_of(tmp_path, start_from=[str(earlier)]))
    assert starts == [both[1]]
    assert "the best trial of" in said
    assert "outside of this space" in said


def test_a_study_that_goes_on_keeps_its_starts_and_refuses_others(tmp_path: Path) -> None:
    earlier = write_study(tmp_path / "earlier", search_of(tmp_path), ({RATE: 0.05, "train.batch": 16}, 0.2))
    starts, _ = begin(search_of(tmp_path, start_from=[str(earlier)]))
    assert begin(search_of(tmp_path, start_from=[str(earlier)]))[0] == starts
    assert begin(search_of(tmp_path))[0] == starts
    with pytest.raises(ConfigError, match="start_from"):
        begin(search_of(tmp_path, start_from=[str(tmp_path / "another")]))


def test_starts_of_a_searcher_that_takes_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"tune.start_from: this searcher chooses every point itself"):
        search_of(tmp_path, "tune.searcher=single", start_from=["earlier"])


def test_the_rungs_of_a_study_are_settled_when_it_begins(tmp_path: Path) -> None:
    asha = "tune.searcher={type: asha, divisor: 2}"
    begin(search_of(tmp_path, asha, minutes=30))
    assert read_record(tmp_path / "study").about["trials"] == 10_000
    begin(search_of(tmp_path, asha, trials=8))
    assert read_record(tmp_path / "study").about["trials"] == 10_000


def test_a_study_starts_from_a_run_whose_options_are_choices(tmp_path: Path) -> None:
    text = "[{type: linear}, {type: deep, hidden: [8]}]"
    overrides = [f"tune.space.model={text}", f"{RATE}=0.02", "train.batch=16"]
    search = search_of(tmp_path, *overrides)
    run = RunDirectory(tmp_path / "run")
    settle_plan(run, search.plan(Settled({}, (), {})))
    starts, _ = begin(search_of(tmp_path, *overrides, start_from=[str(run.path)]))
    assert starts == [{RATE: 0.02, "train.batch": 16, "model": {"type": "linear"}}]


def search_at_its_end(tmp_path: Path) -> PreparedSearch:
    """Write a study of one trial that has finished, and of which only the refit is left."""
    search = search_of(tmp_path, trials=1, refit=True)
    begin(search)
    record = read_record(search.directory)
    settled = search.space.at(search.space.settle(lambda parameter: 0.0).point)
    record.add_trial(Trial(0, settled.point, settled.values, "trial-0000"))
    run = record.run_of(0)
    settle_plan(run, search.plan(settled))
    for event in (Stepped(10, 1.0, 0.5, 0.01, 1.0, 160, 0, 0.5), Ended(10, "finished", 10)):
        EventsFile(run.events).append(event, time=1.0, attempt=1)
    record.add_end(EndedLeg(0, None, "finished", 0.5, curve=(0.5,)))
    return search


@pytest.mark.parametrize(("reason", "ending", "best"), [("preempted", "stopped", 0), ("finished", "finished", 1)])
def test_a_refit_that_is_stopped_is_not_the_model_of_the_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str, ending: str, best: int
) -> None:
    search = search_at_its_end(tmp_path)

    def end(run: RunDirectory, **_: object) -> RunResult:
        write_json(run.exit, {"reason": reason, "step": 3})
        return read_result(run)

    monkeypatch.setattr(module, "continue_run", end)
    found = module.tune(search, request=StopRequest())
    name = ("trial-0000", "refit")[best]
    assert (found.ending, found.best_run) == (ending, search.directory / name)
    assert read_json(search.directory / "study.json")["best_run"] == name  # type: ignore[index]  # it is a table


def test_a_study_that_is_asked_to_stop_begins_no_refit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search = search_at_its_end(tmp_path)
    monkeypatch.setattr(module, "continue_run", lambda *_, **options: pytest.fail("it began"))
    assert module.tune(search, request=StopRequest("interrupted")).ending == "stopped"


def test_the_stop_file_of_a_study_stops_its_refit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search = search_at_its_end(tmp_path)

    def train(run: RunDirectory, *, watch: Callable[[Event], None], **_: object) -> RunResult:
        run.path.mkdir()
        watch(Noted(0, "it has begun"))
        assert not run.stop_file.exists()
        RunDirectory(search.directory).stop_file.touch()
        watch(Noted(0, "it goes on"))
        write_json(run.exit, {"reason": "stop_file" if run.stop_file.exists() else "finished", "step": 3})
        return read_result(run)

    monkeypatch.setattr(module, "continue_run", train)
    assert module.tune(search, request=StopRequest()).ending == "stopped"


@pytest.mark.parametrize(
    "score", [None, "0.1", math.nan, math.inf, [], 10**400], ids=["none", "text", "nan", "inf", "list", "huge"]
)
def test_odd_rows_of_an_earlier_table_are_no_starts(tmp_path: Path, score: object) -> None:
    earlier = write_study(tmp_path / "earlier", search_of(tmp_path), ({RATE: 0.05}, 0.2), ({RATE: 0.02}, 0.1))
    table = json.loads((earlier / "study.json").read_text())
    table["trials"][1]["score"] = score
    table["trials"] += [{}, {**table["trials"][0], "run": "../elsewhere", "score": 0.0}]
    (earlier / "study.json").write_text(json.dumps(table))
    starts, _ = begin(search_of(tmp_path, start_from=[str(earlier)]))
    assert [start[RATE] for start in starts] == [0.05]


def test_a_point_of_no_such_space_is_refused_in_a_sentence(tmp_path: Path) -> None:
    search = search_of(tmp_path)
    begin(search)
    record = read_record(search.directory)
    record.add_trial(Trial(0, {"no such option": 0.5}, {}, "trial-0000"))
    with pytest.raises(CheckpointError, match=r"the point of trial 0, .* is none of the space"):
        begin(search)
