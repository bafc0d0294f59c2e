"""One fault, wherever a run is trained: its worker is killed, it goes on by itself, and comes to the same bits."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from pathlib import Path

import pytest

from burnish.run.record.directory import RunDirectory
from tests.harness.digests import digests
from tests.harness.places import (
    Local,
    Place,
    Torchrun,
    assert_same_training,
    await_that,
    events_of,
    kill_tree,
    kill_worker,
    last_step,
    run,
    sizes_of,
    train_alone,
)
from tests.harness.server import write_rides
from tests.harness.slurm import slurm_place

IS_FULL = os.environ.get("BURNISH_CLUSTERS") == "full"
RIDES = """\
name: rides
task: {type: tabular, target: tip, kind: binary}
data: {train: rides.csv, split: {validation: 20%}}
model: linear
train: {length: 200 steps, evaluate_every: 100 steps, checkpoint_every: 20 steps, batch: 16}
runtime: {threads: 1}
"""
ENDLESS = ("train.length=1000000 steps", "train.evaluate_every=500 steps", "train.patience=null")


def kubernetes(folder: Path) -> AbstractContextManager[Place]:
    for name in ("kubernetes", "kubernetes_validate"):
        pytest.importorskip(name, reason="`make clusters` installs it")
    from tests.harness.kubernetes import kubernetes_place

    return kubernetes_place(folder)


def ray(folder: Path) -> AbstractContextManager[Place]:
    if find_spec("ray") is None:  # not imported here: it reads then how it shall prove who it is
        pytest.skip("the extra `ray` brings it; `make clusters` installs it")
    from tests.harness.ray_cluster import ray_place

    return ray_place(folder)


PLACES: dict[str, Callable[[Path], AbstractContextManager[Place]]] = {
    "local": lambda folder: nullcontext(Local()),
    "torchrun": lambda folder: nullcontext(Torchrun()),
    "slurm": slurm_place,
    "kubernetes": kubernetes,
    "ray": ray,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("places")
    write_rides(folder / "rides.csv", 400)
    (folder / "rides.yaml").write_text(RIDES)
    return folder


@pytest.fixture(scope="module")
def unbroken(folder: Path) -> Callable[[int], dict[str, str]]:
    """Train the same without a fault, once for each number of processes."""
    known: dict[int, dict[str, str]] = {}

    def train(size: int) -> dict[str, str]:
        if size not in known:
            words = ["train", "rides.yaml", "--processes", str(size), "--dir", f"runs/unbroken-{size}"]
            assert run(words, folder=folder).returncode == 0
            known[size] = digests(RunDirectory(folder / "runs" / f"unbroken-{size}"))
        return known[size]

    return train


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with PLACES[request.param](tmp_path) as place:
        yield place


@pytest.mark.timeout(900)
def test_a_killed_worker_is_started_again_and_comes_to_the_same_bits(
    place: Place, folder: Path, unbroken: Callable[[int], dict[str, str]]
) -> None:
    there = place.start(["rides.yaml"], folder=folder)
    step = kill_worker(there, at_step=75)
    assert place.wait() == 0
    assert sizes_of(there) == [place.size] * 2
    resumed = [event["step"] for event in events_of(there) if event["event"] == "started"][-1]
    assert 0 < resumed <= step < 200
    is_told = any("s of work were lost" in event["message"] for event in events_of(there) if event["event"] == "noted")
    assert is_told == (there / "events.replaced.jsonl").exists()  # nothing is, if it died just after it saved
    assert digests(RunDirectory(there)) == unbroken(place.size)


@pytest.mark.slow
@pytest.mark.skipif(not IS_FULL, reason="takes minutes: `make clusters` runs it")
@pytest.mark.timeout(1200)
def test_a_run_goes_on_when_a_node_joins_and_when_it_is_lost(folder: Path) -> None:
    place = Torchrun(num_nodes="1:2")
    there = place.start(["rides.yaml", *ENDLESS, "name=elastic"], folder=folder)
    await_that(lambda: last_step(there) >= 100, what="steps on one node")
    place.join()
    await_that(lambda: sizes_of(there)[-1:] == [2], what="a start on two nodes")
    joined = last_step(there)
    await_that(lambda: last_step(there) >= joined + 100, what="steps on two nodes")
    kill_tree(place.nodes[0].pid)
    await_that(lambda: sizes_of(there) == [1, 2, 1], what="a start on one node again")
    parted = last_step(there)
    await_that(lambda: last_step(there) >= parted + 200, what="more steps on one node")
    place.ask("jobs", "stop", place.name, "--wait")
    notes = [event["message"] for event in events_of(there) if event["event"] == "noted"]
    first, _ = [note for note in notes if note.startswith("continuing from step")]
    assert "work were lost" not in first  # to join costs none
    assert_same_training(there, train_alone(["rides.yaml", *ENDLESS, "name=elastic"], folder, until=last_step(there)))
