"""Results read well as text, and as tables that escape every word."""

from pathlib import Path

import pytest

from burnish.api.results import Run, Scored, as_html, as_text
from burnish.cli.tables import TextTable
from burnish.errors import CheckpointError
from burnish.spec.values import Score

SCORES = {"accuracy": Score(0.837, 0.82, 0.855)}


def finished(**changes: object) -> Run:
    fields: dict[str, object] = {
        "directory": Path("runs/a"),
        "reason": "finished",
        "step": 40,
        "scores": {"test": SCORES},
        "baselines": {"majority": {"accuracy": Score(0.5, 0.47, 0.52)}},
        "headline": "accuracy",
        "artifact": Path("runs/a/artifact"),
        "report": Path("runs/a/report.html"),
        "seconds": 12.0,
    }
    return Run(**{**fields, **changes})  # type: ignore[arg-type]  # as given


def test_a_run_shows_its_score_next_to_baselines_and_where_things_are() -> None:
    assert repr(finished()).splitlines() == [
        "          test accuracy  95% interval",
        "this run         0.8370  0.8200 to 0.8550",
        "majority         0.5000  0.4700 to 0.5200",
        "finished at step 40 after 12 s",
        "run       runs/a",
        "report    runs/a/report.html",
    ]


def test_in_a_notebook_it_is_tables_and_a_link(tmp_path: Path) -> None:
    html = finished()._repr_html_()
    assert '<td style="text-align:right">0.8370</td>' in html
    assert '<a href="runs/a/report.html" target="_blank">report</a>' in html
    assert finished(report=tmp_path / "report.html")._repr_html_().count(f"file://{tmp_path}") == 1


def test_a_run_that_was_stopped_has_no_model() -> None:
    run = finished(reason="interrupted", artifact=None, report=None, scores={}, baselines={})
    assert "interrupted at step 40 after 12 s; state saved" in repr(run)
    assert "<table" not in run._repr_html_()
    with pytest.raises(CheckpointError, match=r"runs/a was stopped \(interrupted\) and has no model yet"):
        run.load()


def test_every_word_is_escaped() -> None:
    evil = '<script>alert("x")</script>'
    assert "<script" not in as_html([TextTable((evil,), ((evil,),), title=evil), evil])
    assert "<script" not in finished(directory=Path(evil), report=Path(f'{evil}" onclick="x'))._repr_html_()
    assert 'onclick="x' not in finished(report=Path('a" onclick="x'))._repr_html_()


def test_scores_name_what_they_are_of() -> None:
    assert repr(Scored("test", SCORES)).splitlines()[0] == "on test"
    assert repr(Scored(None, SCORES, notes=("a file changed",))).splitlines()[-1] == "a file changed"
    assert as_text(["a", ""]) == "a\n"
