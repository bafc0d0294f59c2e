import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.errors import CheckpointError
from burnish.run.record.events_file import EventRecord, EventsFile, from_dict, to_dict
from burnish.spec.events import Ended, Evaluated, Event, Noted, Saved, Started, Stepped

floats = st.floats(allow_nan=True, allow_infinity=True)
names = st.text(min_size=1, max_size=8)
steps = st.integers(0, 2**40)
plain = (
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False, allow_infinity=False) | names
)
events = st.one_of(
    st.builds(Started, steps, steps, st.none() | steps, st.dictionaries(names, plain)),
    st.builds(Stepped, steps, floats, floats, floats, floats, steps, steps, floats),
    st.builds(Evaluated, steps, names, st.dictionaries(names, floats), st.booleans()),
    st.builds(Saved, steps, names),
    st.builds(Noted, steps, names),
    st.builds(Ended, steps, names, st.none() | steps, st.none() | floats),
)


def stepped(step: int) -> Stepped:
    return Stepped(step, epoch=0.5, loss=1.0, learning_rate=0.1, gradient_norm=2.0, examples=8, tokens=64, fraction=0.1)


def write(path: Path, *happened: Event, attempt: int = 1) -> EventsFile:
    file = EventsFile(path)
    for number, event in enumerate(happened):
        file.append(event, time=float(number), attempt=attempt)
    file.close()
    return file


def read(file: EventsFile) -> list[Event]:
    return [record.event for record in file.read()]


@given(events)
def test_every_event_survives_json(event: Event) -> None:
    text = json.dumps(to_dict(event), allow_nan=False)
    assert same(from_dict(json.loads(text)), event)


def same(left: object, right: object) -> bool:
    """Compare with nan equal to itself."""
    return type(left) is type(right) and repr(left) == repr(right)


def test_events_come_back_in_order_with_time_and_attempt(tmp_path: Path) -> None:
    file = write(tmp_path / "events.jsonl", Noted(0, "zwölf\nlines"), stepped(1), attempt=3)
    assert list(file.read()) == [EventRecord(Noted(0, "zwölf\nlines"), 0.0, 3), EventRecord(stepped(1), 1.0, 3)]


def test_a_line_is_one_json_object_with_the_kind_first(tmp_path: Path) -> None:
    write(tmp_path / "events.jsonl", Saved(5, "checkpoints/step-00000005"))
    assert (tmp_path / "events.jsonl").read_text() == (
        '{"event": "saved", "step": 5, "path": "checkpoints/step-00000005", "time": 0.0, "attempt": 1}\n'
    )


def test_a_line_can_be_read_as_soon_as_it_was_appended(tmp_path: Path) -> None:
    file = EventsFile(tmp_path / "events.jsonl")
    file.append(stepped(1), time=0.0, attempt=1)
    assert read(EventsFile(tmp_path / "events.jsonl")) == [stepped(1)]
    file.close()


def test_floats_keep_every_digit_and_losses_may_be_nan(tmp_path: Path) -> None:
    scores = {"a": 0.1 + 0.2, "b": math.inf, "c": math.nan}
    [event] = read(write(tmp_path / "e", Evaluated(1, "test", scores, is_best=False)))
    assert isinstance(event, Evaluated)
    assert event.scores["a"] == 0.1 + 0.2
    assert event.scores["b"] == math.inf
    assert math.isnan(event.scores["c"])


def test_numbers_of_an_array_library_are_written_as_plain_ones(tmp_path: Path) -> None:
    facts = {"count": np.int64(7), "share": np.float32(0.5), "path": Path("a/b"), "shape": (1, 2)}
    [event] = read(write(tmp_path / "e", Started(0, 1, None, facts)))
    assert event == Started(0, 1, None, {"count": 7, "share": 0.5, "path": "a/b", "shape": [1, 2]})


@given(st.integers(1, 400))
def test_a_torn_last_line_is_not_read_and_does_not_spoil_the_next(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("run") / "events.jsonl"
    write(path, stepped(1), stepped(2))
    content = path.read_bytes()
    path.write_bytes(content[: max(0, len(content) - cut)])
    whole = path.read_bytes().count(b"\n")
    assert read(EventsFile(path)) == [stepped(1), stepped(2)][:whole]
    write(path, Noted(9, "next"))
    assert read(EventsFile(path)) == [*[stepped(1), stepped(2)][:whole], Noted(9, "next")]


def test_a_spoilt_line_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    write(path, stepped(1), stepped(2))
    path.write_bytes(b"\0\0\0\n" + path.read_bytes())
    with pytest.raises(CheckpointError, match=r"events.jsonl:1 is not an event of a run"):
        read(EventsFile(path))


@pytest.mark.parametrize(
    "line", ['{"event": "saved"}', "[]", "3", '{"event": ["saved"]}', '{"time": 1}', '"x"', "null"]
)
def test_a_line_of_another_shape_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "e").write_text(line + "\n")
    with pytest.raises(CheckpointError, match="e:1"):
        read(EventsFile(tmp_path / "e"))


def test_kinds_and_fields_of_a_later_version_are_passed_over(tmp_path: Path) -> None:
    lines = [
        {"event": "dreamt", "step": 1, "time": 0.0, "attempt": 1},
        {"event": "noted", "step": 1, "message": "m", "mood": "good", "time": 0.0, "attempt": 1},
    ]
    (tmp_path / "e").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert read(EventsFile(tmp_path / "e")) == [Noted(1, "m")]


def test_an_absent_file_holds_nothing(tmp_path: Path) -> None:
    assert read(EventsFile(tmp_path / "absent")) == []
    assert EventsFile(tmp_path / "absent").last(Stepped) is None
    assert EventsFile(tmp_path / "absent").rewind(3) == 0


def test_skipped_kinds_are_left_out_and_the_last_of_a_kind_is_found(tmp_path: Path) -> None:
    file = write(tmp_path / "e", stepped(1), stepped(2), Noted(2, "n"))
    assert [record.event for record in file.read(skip=(Stepped,))] == [Noted(2, "n")]
    assert file.last(Stepped) == EventRecord(stepped(2), 1.0, 1)
    assert file.last(Ended) is None


def test_rewinding_drops_what_will_be_done_again_and_keeps_it_aside(tmp_path: Path) -> None:
    later = [stepped(3), Evaluated(3, "validation", {"a": 1.0}, is_best=True), Saved(3, "p")]
    told = [Started(0, 1, 9), stepped(1), stepped(2), Saved(2, "p"), Noted(3, "n"), Ended(3, "preempted")]
    file = write(tmp_path / "events.jsonl", *told[:4], *later, *told[4:])
    assert file.rewind(2) == 3
    assert read(file) == told
    assert read(EventsFile(tmp_path / "events.replaced.jsonl")) == later
    assert file.rewind(2) == 0


@pytest.mark.parametrize(("step", "seconds"), [(0, 8.0), (2, 6.0), (5, 0.0), (9, 0.0)])
def test_lost_is_the_time_from_the_step_that_is_resumed_to_the_last_one(
    tmp_path: Path, step: int, seconds: float
) -> None:
    file = EventsFile(tmp_path / "events.jsonl")
    assert file.count_lost_seconds(0) == 0.0
    for number in range(1, 6):
        file.append(stepped(number), time=2.0 * number, attempt=1)
    file.append(Saved(2, "p"), time=50.0, attempt=1)
    assert file.count_lost_seconds(step) == seconds


@given(st.integers(1, 30), st.data())
def test_after_interruptions_and_resumes_every_step_stands_there_once(
    tmp_path_factory: pytest.TempPathFactory, total: int, data: st.DataObject
) -> None:
    file = EventsFile(tmp_path_factory.mktemp("run") / "events.jsonl")
    step = 0
    while step < total:
        reached = data.draw(st.integers(step + 1, total))
        for number in range(step + 1, reached + 1):
            file.append(stepped(number), time=float(number), attempt=1)
        saved = reached if reached == total else data.draw(st.integers(step, reached))
        file.rewind(saved)
        step = saved if saved > step or reached == total else step + 1 if _redo(file, step) else step
    file.close()
    assert [event.step for event in read(file)] == list(range(1, total + 1))


def _redo(file: EventsFile, step: int) -> bool:
    """Take one step that lasts, so that the run cannot fall back for ever."""
    file.append(stepped(step + 1), time=0.0, attempt=2)
    return True


def test_a_full_disk_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").mkdir()
    with pytest.raises(CheckpointError, match=r"events.jsonl could not be written"):
        EventsFile(tmp_path / "events.jsonl").append(stepped(1), time=0.0, attempt=1)


@pytest.mark.parametrize(
    "line",
    [
        '{"event": "noted", "step": "three", "message": "x", "time": 1, "attempt": 1}',
        '{"event": "noted", "step": null, "message": "x", "time": 1, "attempt": 1}',
        '{"event": "noted", "step": 3, "message": "x", "time": 1, "attempt": Infinity}',
        '{"event": "evaluated", "step": 3, "split": "test", "scores": [1], "is_best": true, "time": 1, "attempt": 1}',
        '{"event": "started", "step": 0, "attempt": 1, "total_steps": 9, "facts": [], "time": 1}',
        '{"event": ' + "[" * 100_000 + "]" * 100_000 + ', "time": 1, "attempt": 1}',
    ],
    ids=["a word for a step", "no step", "infinite", "a list of scores", "a list of facts", "deep"],
)
def test_an_odd_value_is_refused_with_its_place(tmp_path: Path, line: str) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(CheckpointError, match=r"events.jsonl:1 is not an event of a run"):
        list(EventsFile(path).read())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"fraction": 0.5', '"fraction": NaN'),
        ('"fraction": 0.5', '"fraction": "inf"'),
        ('"learning_rate": 0.1', '"learning_rate": null'),
        ('"time": 5.0', '"time": 1e308'),
        ('"time": 5.0', '"time": NaN'),
        ('"time": 5.0', '"time": -1e18'),
    ],
)
def test_a_time_or_a_share_that_cannot_be_shown_is_refused(tmp_path: Path, old: str, new: str) -> None:
    file = EventsFile(tmp_path / "events.jsonl")
    file.append(Stepped(1, 0.5, math.nan, 0.1, math.inf, 8, 8, 0.5), time=5.0, attempt=1)
    assert len(list(file.read())) == 1
    file.path.write_text(file.path.read_text().replace(old, new))
    with pytest.raises(CheckpointError, match=r"events.jsonl:1 is not an event of a run"):
        list(file.read())


@pytest.mark.parametrize(("old", "new"), [(b"0.1", b"\xf9"), (b'"step": 1', b'"step": ' + b"9" * 5001)])
def test_a_step_that_is_no_text_is_refused_when_later_ones_are_dropped(tmp_path: Path, old: bytes, new: bytes) -> None:
    file = write(tmp_path / "events.jsonl", stepped(1), stepped(2))
    file.path.write_bytes(file.path.read_bytes().replace(old, new, 1))
    with pytest.raises(CheckpointError, match=r"events.jsonl:1 is not an event of a run"):
        file.rewind(1)
