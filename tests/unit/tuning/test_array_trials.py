"""Trials in the elements of an array: each is trained once, wherever an element lives, and goes on when one is gone."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from burnish.run.record.directory import RunDirectory
from burnish.tuning import array_trials
from burnish.tuning.array_trials import ArrayElement, ArrayTrialStarter
from burnish.tuning.forks import TrialStarter
from tests.harness.places import await_that

TRIAL = """
import json, pathlib, sys, time
run = pathlib.Path(sys.argv[1])
how = run.joinpath("plan.yaml").read_text()
print("began", how, flush=True)
if how == "dies":
    sys.exit(3)
while how == "waits" and not run.joinpath("STOP").exists():
    time.sleep(0.01)
run.joinpath("exit.json").write_text(json.dumps({"reason": "stop_file" if how == "waits" else "finished"}))
"""


class Here(TrialStarter):
    """A first element that is busy for as long as it is held."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[str] = []

    def __exit__(self, *_: object) -> None:
        pass

    def start(self, run: Path, *_: object, **__: object) -> Iterator[str]:
        self.runs.append(run.name)
        yield "here\n"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "worker_of_a_test.py").write_text(TRIAL)
    (tmp_path / "trials").mkdir()
    monkeypatch.setattr(array_trials, "_WORKER", "worker_of_a_test")
    monkeypatch.setattr(array_trials, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(array_trials, "_BEAT_SECONDS", 0.02)
    monkeypatch.setattr(array_trials, "STALE_SECONDS", 5.0)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


@contextmanager
def element(root: Path, number: int = 1) -> Iterator[ArrayElement]:
    """An element that lives in a thread until the end."""
    found = ArrayElement(root, number, over=root / "trials" / "over-7")
    thread = threading.Thread(target=found.serve)
    thread.start()
    try:
        yield found
    finally:
        found.is_ending.set()
        thread.join()


@contextmanager
def leader(root: Path, *, size: int = 2) -> Iterator[ArrayTrialStarter]:
    with ArrayTrialStarter(f"{root / 'trials'}:{size}", Here(), threading.Event()) as found:
        found._free.discard(0)  # it trains another one
        yield found


def plan(root: Path, how: str) -> RunDirectory:
    run = RunDirectory(root / "trial-0003")
    run.path.mkdir(exist_ok=True)
    run.plan.write_text(how)
    return run


def train(starter: ArrayTrialStarter, run: RunDirectory) -> list[str]:
    return [*starter.start(run.path, [], cores=[], log=Path(f"{run.path}.log"))]


def in_the_background(starter: ArrayTrialStarter, run: RunDirectory) -> Callable[[], list[str]]:
    said: list[str] = []
    lines = starter.start(run.path, [], cores=[], log=Path(f"{run.path}.log"))
    thread = threading.Thread(target=lambda: said.extend(lines))
    thread.start()
    await_that(lambda: bool(said), what="its first words, read by who leads")

    def end() -> list[str]:
        thread.join()
        return said

    return end


def test_a_trial_is_trained_where_an_element_is_free_and_in_the_first_one_before(root: Path) -> None:
    with element(root), leader(root) as starter:
        assert train(starter, plan(root, "ends")) == ["began ends\n"]
        assert train(starter, plan(root, "ends")) == ["began ends\n"], "the same element, once more"
        starter._free.add(0)
        assert train(starter, plan(root, "ends")) == ["here\n"]


def test_what_an_element_of_earlier_left_is_no_sign_of_life(root: Path) -> None:
    (root / "trials" / "1.said.json").write_text(json.dumps({"worker": "a", "beat": "b"}))
    with leader(root) as starter:
        assert [starter._lives(1), starter._lives(1), starter._lives(2)] == [False] * 3


def test_a_trial_whose_element_began_anew_has_ended_without_a_word(root: Path) -> None:
    run = plan(root, "waits")
    with ExitStack() as stack, leader(root) as starter:
        stack.enter_context(element(root))
        end = in_the_background(starter, run)
        stack.enter_context(element(root))  # the same number: Slurm has started it again
        assert end() == ["began waits\n"]
        await_that(run.stop_file.exists, what="a stop of what nobody follows")
        await_that(lambda: not run.exit.exists(), what="no end that would be taken for one")


def test_an_element_trains_nothing_that_one_before_it_was_asked_for(root: Path) -> None:
    run = plan(root, "ends")
    (root / "trials" / "1.asked.json").write_text(json.dumps({"task": "a", "worker": "b", "words": [str(run.path)]}))
    with element(root), leader(root) as starter:
        (root / "trials" / "1.asked.json").write_text(
            json.dumps({"task": "a", "worker": "b", "words": [str(run.path)]})
        )
        await_that(lambda: starter._lives(1), what="a sign of life")
    assert not (root / "trials" / "1.lines").exists()


def test_a_trial_whose_element_falls_silent_is_let_go(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_trials, "STALE_SECONDS", 0.5)
    mailbox = array_trials._Mailbox(root / "trials", 1)
    with leader(root) as starter:
        mailbox.say(worker="a")
        assert not starter._lives(1)
        mailbox.say(worker="a")
        assert train(starter, plan(root, "ends")) == []
        assert mailbox.asked() == {}, "it shall not begin, should it live after all"


def test_a_trial_of_a_first_element_that_is_gone_saves_and_is_no_end(root: Path) -> None:
    run = plan(root, "waits")
    with element(root), leader(root) as before:
        end = in_the_background(before, run)
        with leader(root) as after:
            end()
            assert run.stop_file.exists()
            run.stop_file.unlink()
            run.plan.write_text("ends")
            assert not run.exit.exists()
            assert train(after, run) == ["began ends\n"]


def test_a_trial_that_makes_room_is_no_end_and_one_that_is_stopped_is(root: Path) -> None:
    run = plan(root, "waits")
    with element(root) as other, leader(root) as starter:
        end = in_the_background(starter, run)
        run.stop_file.touch()
        assert end() == ["began waits\n"]
        assert run.exit.exists(), "the study itself asked for it"
        run.stop_file.unlink()
        run.exit.unlink()
        (root / "trials" / "1.lines").unlink()
        end = in_the_background(starter, run)
        other.is_ending.set()
        run.stop_file.touch()
        end()
    assert not run.exit.exists()


def test_a_trial_that_cannot_start_says_where_its_words_are(root: Path) -> None:
    run = plan(root, "dies")
    with element(root), leader(root) as starter:
        train(starter, run)
    assert json.loads(run.exit.read_text())["message"] == f"its worker ended with 3; its words are in {root / 'trials'}"


def test_a_study_that_is_stopped_waits_for_no_element(root: Path) -> None:
    with leader(root) as starter:
        starter.stopping.set()
        assert train(starter, plan(root, "ends")) == []


def test_an_element_ends_with_the_study(root: Path) -> None:
    other = ArrayElement(root, 1, over=root / "trials" / "over-7")
    (root / "trials" / "over-7").touch()
    assert other.serve() == 0


def test_an_element_that_nobody_leads_ends(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_trials, "_MOST_SECONDS_ALONE", 0.05)
    assert ArrayElement(root, 1, over=root / "over").serve() == 0
