"""The comparison itself: a worker with a planted bug is never taken for a sound one."""

from pathlib import Path

import pytest

from burnish.run.record.directory import RunDirectory
from tests.faults import mutants
from tests.faults.conftest import Scene, Tally, copy_of, whole
from tests.faults.mutants import Mutant, address
from tests.faults.order import disorder
from tests.harness.digests import digests
from tests.harness.faults import Fault, read_trace

pytestmark = pytest.mark.timeout(900)  # the first to ask for a scene makes it, and a busy machine takes its time
IN_RESTORING = (
    mutants.the_average_is_not_restored,
    mutants.the_optimizer_is_not_restored,
    mutants.the_position_is_one_batch_off,
    mutants.the_best_score_is_forgotten,
    mutants.steps_done_again_are_told_twice,
    mutants.one_step_too_many_is_cut_from_the_events,
    mutants.the_warm_up_begins_anew,
)
IN_TRAINING = (mutants.dropout_remembers_what_it_drew, mutants.the_position_is_that_of_the_batches_made_ahead)
IN_SAVING = (
    mutants.files_are_not_synced,
    mutants.the_folder_of_checkpoints_is_not_synced,
    mutants.the_manifest_comes_first,
)


@pytest.mark.parametrize("mutant", IN_RESTORING)
def test_a_worker_that_restores_too_little_ends_with_other_bits(
    scene: Scene, halfway: RunDirectory, mutant: Mutant
) -> None:
    run = copy_of(halfway, mutant.__name__)
    assert scene.start(run, Tally(), change=address(mutant)).wait() == 0
    assert digests(run) != scene.expected


@pytest.mark.parametrize("mutant", IN_TRAINING)
def test_a_worker_that_keeps_what_no_checkpoint_holds_ends_with_other_bits(scene: Scene, mutant: Mutant) -> None:
    straight, cut = scene.plan(f"{mutant.__name__}-straight"), scene.plan(f"{mutant.__name__}-cut")
    assert scene.start(straight, Tally(), change=address(mutant)).wait() == 0
    point = next(point for point in scene.points_of_save(2) if point.kind == "tensors")
    scene.killed(cut, Fault(point.kind, point.number), Tally(), change=address(mutant))
    assert scene.start(cut, Tally(), change=address(mutant)).wait() == 0
    weights = [name for name in scene.expected if name.endswith("weights.safetensors")]
    assert [digests(straight)[name] for name in weights] != [digests(cut)[name] for name in weights]


def test_a_worker_that_verifies_nothing_ends_with_other_bits(scene: Scene, halfway: RunDirectory) -> None:
    run = copy_of(halfway, "unverified")
    path = whole(run)[-1] / "weights.safetensors"
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    assert scene.start(run, Tally(), change=address(mutants.no_checkpoint_is_verified)).wait() == 0
    assert digests(run) != scene.expected


def test_everything_is_on_the_disk_before_the_next_thing_relies_on_it(scene: Scene) -> None:
    assert disorder(scene.points) == []


@pytest.mark.parametrize("mutant", IN_SAVING)
def test_a_worker_that_saves_in_another_order_is_noticed(scene: Scene, mutant: Mutant, tmp_path: Path) -> None:
    run = scene.plan(mutant.__name__, "train.length=4 steps")
    trace = tmp_path / "trace"
    attempt = scene.server.start(run.path, output=tmp_path / "output.txt", trace=trace, change=address(mutant))
    assert attempt.wait() == 0
    assert disorder(read_trace(trace))
