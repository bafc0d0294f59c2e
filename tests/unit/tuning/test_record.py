"""study.jsonl: what was recorded is read back, and half a line is none."""

import json
import math
from pathlib import Path

import pytest

from burnish.errors import CheckpointError
from burnish.spec.search import Leg
from burnish.tuning.page import expect_luck, explain_bias, render_study
from burnish.tuning.record import EndedLeg, StudyRecord, Trial, read_record


def record_of(directory: Path) -> StudyRecord:
    record = StudyRecord(directory)
    record.begin({"experiment": {}, "space": {}, "seed": 3, "metric": None, "starts": [], "evaluations": 9})
    for number in range(8):
        record.add_trial(Trial(number, {"a": number / 8}, {"a": number}, f"trial-{number:04d}"))
        record.add_end(EndedLeg(number, 1, "paused", 0.1 * number, curve=(0.1 * number,), at=float(number)))
    record.add_end(EndedLeg(6, None, "finished", 0.7, low=0.6, high=0.8, test=0.65, curve=(0.6, 0.7), at=9.5))
    record.add_end(EndedLeg(7, None, "finished", 0.7, low=0.6, high=0.8, curve=(0.7, 0.7), at=10.5))
    record.add_end(EndedLeg(5, None, "failed", why="it broke", at=11.0))
    return record


def test_a_record_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    written, read = record_of(tmp_path), read_record(tmp_path)
    assert (read.about, read.trials, read.ends) == (written.about, written.trials, written.ends)
    assert read.seconds == 11.0
    assert [end.leg for end in read.leg_ends()][-1] == Leg(5, None)
    assert read.leg_ends()[-1].is_failed
    assert read.leg_ends()[-1].loss == float("inf")


def test_the_best_has_ended_and_of_equals_is_the_first(tmp_path: Path) -> None:
    record = record_of(tmp_path)
    assert record.best is not None
    assert record.best.trial == 6
    table = record.to_json()
    assert table["best"]["number"] == 6
    assert table["best_run"] == "trial-0006"
    assert [row["state"] for row in table["trials"]][4:] == ["paused", "failed", "finished", "finished"]


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_half_a_line_was_never_written_and_is_cut_off(tmp_path: Path, cut: int) -> None:
    record = record_of(tmp_path)
    whole = record.path.read_bytes()
    record.path.write_bytes(whole[:-cut])
    torn = read_record(tmp_path)
    assert torn.ends == record.ends[:-1]
    torn.add_end(record.ends[-1])
    assert record.path.read_bytes() == whole


def test_a_line_that_is_none_is_refused_by_its_number(tmp_path: Path) -> None:
    record = record_of(tmp_path)
    lines = record.path.read_text().splitlines()
    for wrong in ("nonsense", '{"end": 1}', '{"trial": 0, "point": {}, "values": {}, "run": "../elsewhere"}', "[]"):
        record.path.write_text("\n".join([*lines[:3], wrong, *lines[3:]]) + "\n")
        with pytest.raises(CheckpointError, match=r"study\.jsonl:4 is no line of a study"):
            read_record(tmp_path)


def test_the_page_says_by_how_much_the_best_flatters(tmp_path: Path) -> None:
    record = record_of(tmp_path)
    assert explain_bias(record).startswith("On the test rows, which chose nothing, it scores 0.650: 0.050 worse.")
    luck = expect_luck(record)
    assert luck is not None
    # The expected maximum of two standard normals is 1 / sqrt(pi); an interval of 0.2 is 3.92 deviations wide.
    assert luck == pytest.approx(0.2 / 3.92 * 0.5642, rel=0.1)
    page = render_study(record, name="<b>")
    assert "&lt;b&gt;" in page
    for part in ("Leaders", "History", "Importance", "Rungs", "it broke"):
        assert part in page


def test_a_record_knows_which_score_it_is_about_and_which_way_is_better(tmp_path: Path) -> None:
    record = StudyRecord(tmp_path)
    record.begin({"experiment": {}, "space": {}, "seed": 3, "metric": None, "starts": [], "evaluations": 1})
    record.score_name, record.is_lower_better = "validation/log_loss", True
    for number, loss in enumerate((0.5, 0.3, 0.4)):
        values = {"model": {"type": "deep", "dropout": 0.2 / 3}}
        record.add_trial(Trial(number, {"a": number / 8}, values, f"trial-{number:04d}"))
        record.add_end(EndedLeg(number, None, "finished", loss, low=loss - 0.1, high=loss + 0.1, curve=(loss,)))
    read = read_record(tmp_path)
    assert read.best is not None
    assert read.best.trial == 1
    assert read.to_json()["metric"] == "validation/log_loss"
    page = render_study(read, name="mine")
    assert "<strong>validation/log_loss of trial 1</strong>" in page
    assert "deep dropout=0.06667" in page
    assert "by chance alone the best would be better than their mean by about" in page


def test_numbers_that_no_study_writes_are_refused_by_their_line(tmp_path: Path) -> None:
    record = record_of(tmp_path)
    lines = [json.loads(line) for line in record.path.read_text().splitlines()]
    odd = {
        0: {
            "evaluations": [0, -1, "9", 1e308, None],
            "seed": ["3", 0.5],
            "starts": [3, [{"a": "x"}]],
            "experiment": [[]],
        },
        1: {"trial": [-1, "0", 10**400, True], "point": [{"a": math.nan}, {"a": "1"}, []], "run": ["..", "a\0b"]},
        2: {
            "score": [math.nan, math.inf, "0.5", 10**400, [], True],
            "at": [math.nan, -1.0, 1e300, "2"],
            "until": ["1", -1, 10**30],
            "end": [99, -1, None],
            "state": ["gone", None],
            "curve": [[math.nan], ["0.1"], 3],
            "passed": [{"0": "x"}, {"y": 1}, 3],
        },
    }
    for at, fields in odd.items():
        for name, values in fields.items():
            for value in values:
                changed = [{**each, name: value} if number == at else each for number, each in enumerate(lines)]
                record.path.write_text("".join(json.dumps(each) + "\n" for each in changed))
                with pytest.raises(CheckpointError, match=rf"study\.jsonl:{at + 1} is no line of a study"):
                    read_record(tmp_path)


@pytest.mark.parametrize("order", [[1, 2, 3], [0, 2, 1], [0, 1, 1], [0, 1, 2, 2], [0, 0, 1]], ids=str)
def test_lines_that_are_lost_or_repeated_are_refused(tmp_path: Path, order: list[int]) -> None:
    record = record_of(tmp_path)
    lines = record.path.read_text().splitlines(keepends=True)
    record.path.write_text("".join(lines[at] for at in order))
    with pytest.raises(CheckpointError, match="is no line of a study"):
        read_record(tmp_path)
