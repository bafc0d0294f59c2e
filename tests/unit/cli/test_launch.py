"""`--on`: what a verb sends elsewhere, and what it refuses while it runs here."""

import json
from pathlib import Path

import pytest
import typer

from burnish.cli.main import run


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BURNISH_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("GOOGLE_CLOUD_PROJECT", raising=False)
    Path("data").mkdir()
    Path("data/rides.csv").write_text("fare,tip\n1.5,yes\n2.5,no\n")
    Path("rides.yaml").write_text("task: {type: tabular, target: tip}\ndata: {train: data/rides.csv}\nmodel: linear\n")


def preview(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert run([*words, "--on", "vertex", "--dry-run"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_a_dry_run_sends_the_resolved_experiment_and_the_files_it_names(capsys: pytest.CaptureFixture[str]) -> None:
    found = preview(capsys, "train", "rides.yaml", "train.batch=8", "launch.bucket=b", "--processes", "2", "--dir", "x")
    names = [each.split("/files/")[1] for each in found["uploads"]]
    assert names == ["experiment.yaml", "data/rides.csv"]
    words = found["plan"]["words"]
    assert sorted(words[2:]) == sorted(["--dir", "outputs/run", "--processes", "2"])
    assert words[:2] == ["train", "experiment.yaml"]


@pytest.mark.parametrize(
    ("words", "sent"),
    [
        (
            ["prepare", "rides.yaml", "--out", "p"],
            ["prepare", "features", "experiment.yaml", "--out", "outputs/prepared"],
        ),
        (["evaluate", "data", "--split", "test"], ["evaluate", "data", "--split", "test"]),
        (
            ["predict", "data", "data/rides.csv", "--out", "a/mine.parquet"],
            ["predict", "data", "data/rides.csv", "--out", "outputs/mine.parquet"],
        ),
    ],
)
def test_other_verbs_travel_by_the_same_way(
    words: list[str], sent: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert preview(capsys, *words)["plan"]["words"] == sent


@pytest.mark.parametrize("words", [["--dry-run"], ["--detach"], ["-l", "machine=x"], ["launch.env.A=s3cret"]])
def test_options_for_elsewhere_are_refused_here(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["train", "rides.yaml", *words]) == 2
    said = capsys.readouterr().err
    assert "add --on vertex" in said
    assert "s3cret" not in said
    assert not Path("runs").exists()


def test_a_wrong_experiment_is_refused_before_anything_is_sent(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["train", "rides.yaml", "train.bach=8", "--on", "vertex", "--dry-run"]) == 2
    assert "train.batch" in capsys.readouterr().err


def test_a_file_that_only_this_machine_has_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train", "rides.yaml", f"data.train={tmp_path}/data/rides.csv", "--on", "vertex", "--dry-run"]
    assert run(words) == 2
    assert "which only this machine has" in capsys.readouterr().err


def test_a_job_is_not_submitted_while_anything_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("google.auth", reason="the extra `vertex` brings it")
    assert run(["train", "rides.yaml", "--on", "vertex", "--yes", "launch.replicas=2"]) == 6
    said = capsys.readouterr().err
    assert all(each in said for each in ("launch.project", "launch.image", "launch.bucket", "launch.replicas"))


def test_files_of_a_pattern_and_of_a_run_that_is_scored_travel(capsys: pytest.CaptureFixture[str]) -> None:
    found = preview(capsys, "train", "rides.yaml", "data.train=data/*.csv")
    assert [each.split("/files/")[1] for each in found["uploads"]] == ["experiment.yaml", "data/rides.csv"]
    Path("mine").mkdir()
    Path("mine/plan.yaml").write_text(Path("rides.yaml").read_text())
    found = preview(capsys, "evaluate", "mine", "--split", "train")
    assert [each.split("/files/")[1] for each in found["uploads"]] == ["data/rides.csv", "mine/plan.yaml"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["evaluate", "runs/none"], "there is no runs/none here"),
        (["predict", "data", "none.csv"], "there is no none.csv here"),
        (["prepare", "rides.yaml", "--out", "gs://b/x"], "gs://b/x"),
        (["tune", "rides.yaml", "tune.space={train.bach: [1, 2]}"], "train.batch"),
        (["train", "rides.yaml", "launch.study=rides.yaml", "tune.searcher=none"], "tune.searcher"),
    ],
)
def test_what_cannot_run_there_is_refused_here(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words, "--on", "vertex", "--dry-run"]) != 0
    assert said in capsys.readouterr().err


def test_a_study_travels_with_its_section_and_the_service_may_search_instead(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("space.yaml").write_text("tune: {trials: 3, space: {train.batch: [2, 4]}}\n")
    found = preview(capsys, "tune", "rides.yaml", "-c", "space.yaml", "--minutes", "5", "--dir", "x")
    assert found["plan"]["words"][:4] == ["tune", "experiment.yaml", "-c", "tune.yaml"]
    assert sorted(found["plan"]["words"][4:]) == sorted(["--dir", "outputs/study", "--minutes", "5.0"])
    assert [each.split("/files/")[1] for each in found["uploads"]][:2] == ["experiment.yaml", "tune.yaml"]
    found = preview(capsys, "train", "rides.yaml", "launch.study=space.yaml")
    assert found["request"]["body"]["maxTrialCount"] == 3


def test_a_run_may_lie_at_another_address(capsys: pytest.CaptureFixture[str]) -> None:
    found = preview(capsys, "train", "rides.yaml", "--dir", "gs://b/runs/one")
    assert found["plan"]["words"] == ["train", "experiment.yaml", "--dir", "gs://b/runs/one"]


def test_the_question_says_what_a_job_takes_and_a_no_starts_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("burnish.commands.elsewhere.launching.refuse_unready", lambda launcher, job: None)
    monkeypatch.setattr("burnish.launch.vertex.cost.ask", lambda *_, **__: {})
    asked: list[str] = []

    def answer_no(question: str, *, abort: bool) -> None:
        asked.append(question)
        raise typer.Abort

    monkeypatch.setattr(typer, "confirm", answer_no)
    assert (
        run(
            [
                "train",
                "rides.yaml",
                "--on",
                "vertex",
                "launch.project=p",
                "launch.bucket=b",
                "launch.image=team/burnish:1",
            ]
        )
        != 0
    )
    assert len(asked) == 1
    said = capsys.readouterr().err
    assert "it takes 1 machine n1-standard-4 with 100 GB of disk in us-central1, each for 24 hours at most" in said
    assert "https://cloud.google.com/vertex-ai/pricing" in said


def test_jobs_that_are_not_there_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["jobs", "ls"]) == 0
    assert run(["jobs", "show", "x"]) == 6
    assert "burnish jobs ls" in capsys.readouterr().err
