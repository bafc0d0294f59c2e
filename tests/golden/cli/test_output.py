"""What each verb prints when standard output is no terminal."""

import io
import json
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from burnish.cli.console import PlainLines
from burnish.cli.main import run
from burnish.commands.evaluate import Evaluation
from burnish.commands.predict import PredictedFile
from burnish.launch.group import Group
from burnish.run.record.result import RunResult
from burnish.spec.events import Ended, Evaluated, Event, Noted, Saved, Started, Stepped
from burnish.spec.values import Score
from tests.unit.commands.run_maker import finish, make_run, predict

Golden = Callable[[str, str], None]
Captured = pytest.CaptureFixture[str]

DONE = RunResult(
    directory=Path("runs/demo-reviews"),
    reason="finished",
    step=285,
    scores={"validation": {"accuracy": Score(0.9)}, "test": {"accuracy": Score(0.9131, 0.9012, 0.9245)}},
    baselines={
        "majority": {"accuracy": Score(0.5021, 0.4811, 0.5239)},
        "TF-IDF + logistic regression": {"accuracy": Score(0.7512, 0.7301, 0.7708)},
    },
    headline="accuracy",
    artifact=Path("runs/demo-reviews/artifact"),
    report=Path("runs/demo-reviews/report.html"),
    seconds=171.3,
)
STOPPED = RunResult(Path("runs/my run"), "interrupted", 120, {}, {}, "", None, None, 61.0)


def story() -> Iterator[Event]:
    yield Started(0, 1, 400, {"train_rows": 3200, "parameters": 22_713_986, "padding": 0.0312, "select": "f1"})
    for step in range(1, 401):
        yield Stepped(step, step / 200, 1 / step, 1e-4, 1.0, examples=16, tokens=512, fraction=step / 400)
        if step % 200 == 0:
            yield Evaluated(step, "validation", {"accuracy": 0.8, "f1": 0.7 + step / 4000}, is_best=True)
            yield Saved(step, f"checkpoints/step-{step:08d}")
    yield Noted(400, "12 rows were skipped; see skipped_rows.jsonl")
    yield Ended(400, "finished", 400, 0.8, "f1")


HELD_OUT = {"untested": "validation"}
"""Which split a run has to score, unless it is test."""


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Put a trainer in place that only tells a story; give the calls it gets."""
    calls: list[dict[str, Any]] = []

    def train(experiment: str, *, watch: Callable[[Event], None], **arguments: Any) -> RunResult:
        calls.append({"experiment": experiment, **arguments})
        for event in (Started(0, 1, 2), Ended(2, "finished")):
            watch(event)
        return STOPPED if experiment == "stopped" else DONE

    def evaluate(target: str, *, progress: Callable[[int, int], None], **arguments: Any) -> Evaluation:
        calls.append({"target": target, **arguments})
        progress(10, 10)
        split = None if arguments.get("data") else arguments.get("split") or HELD_OUT.get(Path(target).name, "test")
        return Evaluation(split, {"accuracy": Score(0.9131, 0.9012, 0.9245), "log_loss": Score(0.21)})

    def watch(
        target: Path, *, split: str, timeout_minutes: float | None, trust_code: bool, emit: Callable[[Evaluated], None]
    ) -> None:
        calls.append({"target": target, "split": split, "trust_code": trust_code})
        emit(Evaluated(5, split, {"accuracy": 0.5}, is_best=False))

    def evaluate_checkpoint(target: Path, *, progress: Callable[[int, int], None], **arguments: Any) -> Evaluation:
        calls.append({"target": target, **arguments})
        return Evaluation(
            "test",
            {"accuracy": Score(0.9131, 0.9012, 0.9245)},
            arguments["which"] if arguments["which"] == 500 else 800,
        )

    resume = lambda target, **options: train(str(target), **options)  # noqa: E731
    monkeypatch.setitem(sys.modules, "burnish.commands.train", SimpleNamespace(train=train, resume=resume))
    commands = SimpleNamespace(evaluate=evaluate, watch=watch, evaluate_checkpoint=evaluate_checkpoint)
    monkeypatch.setitem(sys.modules, "burnish.commands.evaluate", commands)
    return calls


def test_a_run_in_plain_lines(golden: Golden) -> None:
    stream, ticks = io.StringIO(), count()
    with PlainLines(stream, now=lambda: next(ticks) * 0.1) as console:
        for event in story():
            console.watch(event)
    golden("output/train-progress", stream.getvalue())


def test_the_summary_of_a_training(trained: list[dict[str, Any]], golden: Golden, capsys: Captured) -> None:
    assert run(["train", "demo/reviews", "train.batch=8", "-c", "a.yaml", "-c", "b.yaml", "train.length=1 epoch"]) == 0
    golden("output/train-summary", capsys.readouterr().out)
    assert trained == [
        {
            "experiment": "demo/reviews",
            "configs": [Path("a.yaml"), Path("b.yaml")],
            "overrides": ["train.batch=8", "train.length=1 epoch"],
            "directory": None,
            "replace": False,
            "processes": Group(is_auto=True),
            "is_calibrated": False,
            "trust_code": False,
        }
    ]


def test_training_then_evaluating(trained: list[dict[str, Any]], golden: Golden, capsys: Captured) -> None:
    assert run(["train", "demo/reviews", "--dir", "elsewhere", "--then", "evaluate", "--quiet"]) == 0
    golden("output/train-then-evaluate", capsys.readouterr().out)
    assert trained[0]["directory"] == Path("elsewhere")
    assert trained[1] == {"target": "runs/demo-reviews"}


def test_a_training_that_was_stopped(trained: list[dict[str, Any]], golden: Golden, capsys: Captured) -> None:
    assert run(["train", "stopped", "--then", "evaluate"]) == 75
    golden("output/train-stopped", capsys.readouterr().out)
    assert len(trained) == 1


def test_a_training_as_json_lines(trained: list[dict[str, Any]], capsys: Captured) -> None:
    assert run(["train", "demo/reviews", "--json", "--then", "evaluate"]) == 0
    out, err = capsys.readouterr()
    documents = [json.loads(line) for line in out.splitlines()]
    assert err == ""
    assert [document["event"] for document in documents] == ["started", "ended", "evaluation", "summary"]
    assert documents[-1]["scores"]["test"]["accuracy"] == {"value": 0.9131, "low": 0.9012, "high": 0.9245, "why": None}
    assert documents[-1]["artifact"] == "runs/demo-reviews/artifact"


def test_resuming_a_run_by_its_name(trained: list[dict[str, Any]], capsys: Captured) -> None:
    make_run(Path("runs/a"))
    assert run(["resume", "a", "--processes", "2", "--trust-code"]) == 0
    assert trained == [
        {"experiment": "runs/a", "processes": Group(2), "accept_changed_data": False, "trust_code": True},
    ]
    assert "test accuracy" in capsys.readouterr().out


def test_evaluating(trained: list[dict[str, Any]], golden: Golden, capsys: Captured) -> None:
    make_run(Path("runs/a"))
    assert run(["evaluate", "a", "--split", "validation"]) == 0
    golden("output/evaluate", capsys.readouterr().out)
    assert run(["evaluate", "a", "--in", "x.csv", "--json", "--trust-code"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert json.loads(out)["scores"]["log_loss"] == {"value": 0.21, "low": None, "high": None, "why": None}
    assert trained == [
        {"target": "runs/a", "split": "validation", "data": None, "task": None, "trust_code": False, "engine": "torch"},
        {"target": "runs/a", "split": None, "data": "x.csv", "task": None, "trust_code": True, "engine": "torch"},
    ]


def test_evaluating_without_a_test_split_says_so(trained: list[dict[str, Any]], capsys: Captured) -> None:
    make_run(Path("runs/untested"))
    assert run(["evaluate", "untested"]) == 0
    assert capsys.readouterr().out.startswith("validation (there is no test split)\n")
    assert run(["evaluate", "untested", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["split"] == "validation"


def test_scoring_a_checkpoint(trained: list[dict[str, Any]], golden: Golden, capsys: Captured) -> None:
    make_run(Path("runs/a"))
    assert run(["evaluate", "a", "--checkpoint", "500"]) == 0
    golden("output/evaluate-checkpoint", capsys.readouterr().out)
    assert run(["evaluate", "a", "--checkpoint", "last", "--split", "validation", "--json", "--trust-code"]) == 0
    assert json.loads(capsys.readouterr().out)["step"] == 800
    asked = [(call["which"], call["split"], call["trust_code"]) for call in trained]
    assert asked == [(500, None, False), ("last", "validation", True)]


@pytest.mark.parametrize("words", [["500", "--in", "x.csv"], ["500", "--watch"], ["worst"], ["-1"]])
def test_a_checkpoint_that_cannot_be_meant(trained: list[dict[str, Any]], capsys: Captured, words: list[str]) -> None:
    make_run(Path("runs/a"))
    assert run(["evaluate", "a", "--checkpoint", *words]) == 2
    assert "--checkpoint" in capsys.readouterr().err
    assert trained == []


def test_watching_checkpoints(trained: list[dict[str, Any]], capsys: Captured) -> None:
    make_run(Path("runs/a"))
    assert run(["evaluate", "a", "--watch", "--split", "validation"]) == 0
    assert capsys.readouterr().out == "step 5  validation  accuracy 0.5000\n"
    assert run(["evaluate", "a", "--watch", "--json", "--trust-code"]) == 0
    assert json.loads(capsys.readouterr().out)["split"] == "validation"
    assert [call["trust_code"] for call in trained] == [False, True]


def test_predicting(monkeypatch: pytest.MonkeyPatch, golden: Golden, capsys: Captured) -> None:
    from burnish.artifact.predictor import Prediction

    answers = [
        Prediction("pos", 0.987, {"neg": 0.013, "pos": 0.987}),
        Prediction(["a", "b"], None, {"a": 0.91, "b": 0.72, "c": 0.1}),
        Prediction([], None, {"a": 0.31, "b": 0.02, "c": 0.1}),
        Prediction(3.25),
    ]
    fake = SimpleNamespace(predict=lambda target, rows, **_options: answers[: len(rows)])
    monkeypatch.setitem(sys.modules, "burnish.commands.predict", fake)
    texts = ["A fine film.", "long " * 20, "two\nlines", "[bold]x"]
    argv = ["predict", "r", *(word for text in texts for word in ("--text", text))]
    assert run(argv) == 0
    golden("output/predict", capsys.readouterr().out)
    assert run(["predict", "r", "--text", "a", "--pair", "b", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["predictions"][0]["probabilities"] == {"neg": 0.013, "pos": 0.987}


def test_predicting_a_file(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    def predict_file(
        target: str, *, source: str, out: Path, progress: Callable[[int, int], None], **options: Any
    ) -> PredictedFile:
        assert (options, out) == (
            {"task": "mood", "trust_code": True, "engine": "torch", "allow_missing": False},
            Path("y.parquet"),
        )
        progress(1200, 1200)
        return PredictedFile(pa.table({"x": range(1200)}), ("x",), ("`area` is not in x.csv",))

    monkeypatch.setitem(sys.modules, "burnish.commands.predict", SimpleNamespace(predict_file=predict_file))
    for source in (["--in", "x.csv"], ["x.csv"]):
        assert run(["predict", "r", *source, "--out", "y.parquet", "--task", "mood", "--trust-code"]) == 0
        said = capsys.readouterr()
        assert said.out == "1,200 predictions in y.parquet\n"
        assert said.err == "predicting 1,200/1,200\nnote: `area` is not in x.csv\n"


@pytest.fixture
def _utc() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture
def _three_runs(_utc: None) -> None:
    truth = ["pos", "neg"] * 20
    for number, name in enumerate(("base", "fast")):
        made = make_run(Path("runs") / name, rate=2e-5 * (1 + number), started=1_700_000_000.0 + 5000 * number)
        finish(made, accuracy=0.5 + 0.3 * number, baselines={"majority": 0.5})
        predict(made, truth if number else ["pos"] * 40, truth)
    make_run(Path("runs/group/cut"), story=(Started(0, 1, 4), Noted(0, "n")))


@pytest.mark.usefixtures("_three_runs")
@pytest.mark.parametrize(
    ("name", "argv"),
    [
        ("runs-ls", ["runs", "ls"]),
        ("runs-show", ["runs", "show", "base"]),
        ("runs-compare", ["runs", "compare", "base", "runs/fast"]),
        ("runs-tail", ["runs", "tail", "base"]),
    ],
)
def test_looking_at_runs(name: str, argv: list[str], golden: Golden, capsys: Captured) -> None:
    assert run(argv) == 0
    golden(f"output/{name}", capsys.readouterr().out)


@pytest.mark.usefixtures("_three_runs")
@pytest.mark.parametrize(
    "argv", [["runs", "ls"], ["runs", "show", "base"], ["runs", "compare", "base", "fast"], ["list", "tasks"]]
)
def test_what_programs_read_is_one_json_document(argv: list[str], capsys: Captured) -> None:
    assert run([*argv, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)


@pytest.mark.usefixtures("_three_runs")
def test_the_tail_for_programs_is_the_events_themselves(capsys: Captured) -> None:
    assert run(["runs", "tail", "base", "--json"]) == 0
    kinds = [json.loads(line)["event"] for line in capsys.readouterr().out.splitlines()]
    assert kinds[0] == "started"
    assert kinds[-1] == "ended"


def test_without_runs_that_is_what_is_said(capsys: Captured) -> None:
    assert run(["runs", "ls"]) == 0
    assert capsys.readouterr().out == "no runs in runs\n"


def test_config_verbs(capsys: Captured) -> None:
    assert run(["config", "check", "glue/sst2"]) == 0
    assert capsys.readouterr().out == "glue/sst2 has no problems\n"
    assert run(["config", "show", "glue/sst2", "train.batch=7"]) == 0
    Path("mine.yaml").write_text(capsys.readouterr().out)
    assert run(["config", "diff", "glue/sst2", "mine.yaml"]) == 0
    assert "train.batch.examples" in capsys.readouterr().out
    assert run(["config", "diff", "mine.yaml", "mine.yaml"]) == 0
    assert capsys.readouterr().out == "no difference\n"
    assert run(["config", "why", "train.batch", "glue/sst2", "train.batch=7"]) == 0
    assert "set by train.batch=7 on the command line" in capsys.readouterr().out
    assert run(["config", "schema"]) == 0
    assert json.loads(capsys.readouterr().out)["properties"]
    assert run(["config", "show", "glue/sst2", "--origins"]) == 0
    assert "# set by" in capsys.readouterr().out


def test_a_new_experiment_is_written_and_passes_its_check(capsys: Captured) -> None:
    rows = "".join(f"a {mood} film number {n},{mood}\n" for n in range(20) for mood in ("good", "bad"))
    Path("reviews.csv").write_text("text,label\n" + rows)
    assert run(["new", "reviews.csv", "--out", "mine.yaml"]) == 0
    assert "burnish train mine.yaml" in capsys.readouterr().out
    assert run(["config", "check", "mine.yaml"]) == 0
    assert run(["new", "reviews.csv", "--out", "mine.yaml"]) == 1
    assert "mine.yaml exists; write elsewhere with --out FILE or replace it with --force" in capsys.readouterr().err
    assert run(["new", "reviews.csv", "--out", "mine.yaml", "--force"]) == 0


def test_the_version(capsys: Captured) -> None:
    from burnish import __version__

    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"burnish {__version__}\n"


def test_looking_into_the_cache(monkeypatch: pytest.MonkeyPatch, golden: Golden, capsys: Captured) -> None:
    from burnish.commands.cache import CachedTable, CacheListing, Lookup

    digest, reasons = "3f" * 32, ("another tokenizer", "seed is 1 here and 0 there")
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    entries = (
        CachedTable(digest, "features of train", 1_234_567, 0.0, {}),
        CachedTable("a" * 64, "rows of a file", 999, 60.0, {}),
    )
    found = [
        Lookup("train", is_cached=True, nearest=None, reasons=()),
        Lookup("validation", is_cached=False, nearest=digest, reasons=reasons),
        Lookup("test", is_cached=False, nearest=None, reasons=()),
    ]
    fakes = SimpleNamespace(
        ls=lambda: CacheListing(Path("cache"), 20 * 10**9, entries),
        why_miss=lambda *_, **__: found,
        prune=lambda max_size: entries if max_size else (),
    )
    monkeypatch.setitem(sys.modules, "burnish.commands.cache", fakes)
    for argv in (["ls"], ["why-miss", "demo/reviews", "runtime.seed=1"], ["prune"], ["prune", "--max", "1GB"]):
        assert run(["cache", *argv]) == 0
    golden("output/cache", capsys.readouterr().out)
    assert run(["cache", "why-miss", "demo/reviews", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[1]["reasons"] == [*reasons]
