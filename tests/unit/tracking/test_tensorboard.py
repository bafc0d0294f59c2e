"""What TensorBoard itself reads back from the files of a run."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("tensorboard")
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from burnish.spec.events import Ended, Evaluated, Noted, Saved, Started, Stepped, Watcher
from burnish.spec.protocols import Tracker
from burnish.tracking.tensorboard import EventFile, TensorBoard


def stepped(step: int, *, loss: float) -> Stepped:
    return Stepped(
        step=step, epoch=0.1, loss=loss, learning_rate=0.5, gradient_norm=2.0, examples=8, tokens=64, fraction=0.1
    )


def started(step: int = 0, *, attempt: int = 1) -> Started:
    return Started(step=step, attempt=attempt, total_steps=10)


def watch(directory: Path, name: str = "demo/reviews") -> Watcher:
    return TensorBoard().open(directory, name=name)


def scalars(folder: Path, tag: str) -> list[tuple[int, float]]:
    reader = EventAccumulator(str(folder))
    reader.Reload()
    return [(event.step, event.value) for event in reader.Scalars(tag)]


def test_is_a_tracker() -> None:
    assert isinstance(TensorBoard(), Tracker)


def test_steps_and_scores_are_read_back(tmp_path: Path) -> None:
    watcher = watch(tmp_path)
    watcher.emit(started())
    watcher.emit(stepped(1, loss=0.75))
    watcher.emit(stepped(2, loss=0.5))
    watcher.emit(Evaluated(step=2, split="validation", scores={"accuracy": 0.875}, is_best=True))
    watcher.close()
    folder = tmp_path / "tensorboard" / "demo" / "reviews"
    assert scalars(folder, "train/loss") == [(1, 0.75), (2, 0.5)]
    assert scalars(folder, "train/learning_rate") == [(1, 0.5), (2, 0.5)]
    assert scalars(folder, "train/gradient_norm") == [(1, 2.0), (2, 2.0)]
    assert scalars(folder, "validation/accuracy") == [(2, 0.875)]


def test_a_resumed_run_replaces_the_steps_it_takes_again(tmp_path: Path) -> None:
    first = watch(tmp_path, "sst2")
    first.emit(started())
    for step in range(1, 6):
        first.emit(stepped(step, loss=1.0))
    first.close()
    second = watch(tmp_path, "sst2")
    second.emit(started(3, attempt=2))
    second.emit(stepped(4, loss=0.25))
    second.close()
    assert scalars(tmp_path / "tensorboard" / "sst2", "train/loss") == [(1, 1.0), (2, 1.0), (3, 1.0), (4, 0.25)]


def test_a_run_begun_again_from_nothing_shows_only_the_new_attempt(tmp_path: Path) -> None:
    first = watch(tmp_path, "sst2")
    first.emit(started())
    first.emit(stepped(1, loss=1.0))
    first.close()
    second = watch(tmp_path, "sst2")
    second.emit(started(0, attempt=2))
    second.emit(stepped(1, loss=0.5))
    second.close()
    assert scalars(tmp_path / "tensorboard" / "sst2", "train/loss") == [(1, 0.5)]


def test_many_attempts_stay_in_order(tmp_path: Path) -> None:
    for attempt in range(1, 13):
        watcher = watch(tmp_path, "sst2")
        watcher.emit(started(0, attempt=attempt))
        watcher.emit(stepped(1, loss=float(attempt)))
        watcher.close()
    assert scalars(tmp_path / "tensorboard" / "sst2", "train/loss") == [(1, 12.0)]


@pytest.mark.parametrize("name", ["../../outside", "/etc/outside", "..", ""])
def test_a_name_cannot_leave_the_run_directory(tmp_path: Path, name: str) -> None:
    watch(tmp_path / "run", name).close()
    (path,) = tmp_path.rglob("events.*")
    assert path.is_relative_to(tmp_path / "run" / "tensorboard")


def test_other_events_are_no_concern_of_it(tmp_path: Path) -> None:
    watcher = watch(tmp_path)
    for event in (Saved(1, "step-1"), Noted(1, "something"), Ended(1, "finished")):
        watcher.emit(event)
    watcher.close()


def test_a_number_waits_no_longer_than_flush_seconds(tmp_path: Path) -> None:
    clock = iter([0.0, 0.0, 0.0, 1.0, 11.0])
    watcher = EventFile(tmp_path, flush_seconds=10, now=lambda: next(clock))
    path = next(tmp_path.glob("events.*"))
    watcher.emit(stepped(1, loss=1.0))
    assert path.stat().st_size == 0
    watcher.emit(stepped(2, loss=1.0))
    assert scalars(tmp_path, "train/loss") == [(1, 1.0), (2, 1.0)]


def test_a_refusing_disk_is_reported_once_and_the_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watcher = TensorBoard().open(tmp_path, name="sst2")

    class FullDisk:
        def write(self, data: bytes) -> None:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(watcher, "_records", FullDisk())
    with pytest.warns(RuntimeWarning, match="No space left on device") as caught:
        watcher.emit(stepped(1, loss=1.0))
        watcher.emit(stepped(2, loss=1.0))
        watcher.close()
    assert len(caught) == 1


def test_a_folder_that_cannot_be_made_is_reported_and_the_run_goes_on(tmp_path: Path) -> None:
    (tmp_path / "tensorboard").write_text("a file stands where the folder should be")
    with pytest.warns(RuntimeWarning, match="no longer written"):
        watcher = watch(tmp_path)
    watcher.emit(stepped(1, loss=1.0))
    watcher.close()


def test_neither_torch_nor_tensorflow_is_imported(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from burnish.tracking.tensorboard import TensorBoard\n"
        "assert 'tensorboard' not in sys.modules\n"
        f"TensorBoard().open(pathlib.Path({str(tmp_path)!r}), name='x').close()\n"
        "assert 'tensorboard' in sys.modules\n"
        "assert not {'torch', 'tensorflow'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_only_each_so_many_th_step_is_written(tmp_path: Path) -> None:
    watcher = TensorBoard(every=3).open(tmp_path, name="x")
    for step in range(1, 8):
        watcher.emit(stepped(step, loss=1.0))
    watcher.close()
    assert [step for step, _ in scalars(tmp_path / "tensorboard" / "x", "train/loss")] == [3, 6]
