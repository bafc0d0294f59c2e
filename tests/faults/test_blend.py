"""A run of `model: auto` that is killed at any moment fits no fold twice and ends with the same bits."""

import random
import time

import pytest

from burnish.commands.config import check
from burnish.run.record.events_file import EventsFile
from burnish.spec.events import Stepped
from tests.faults.conftest import IS_FULL, Scene, Tally, undisturbed

pytestmark = pytest.mark.timeout(900)
MOMENTS = 10 if IS_FULL else 3


@pytest.fixture(scope="module")
def blended(scene: Scene) -> Scene:
    """A blend of three members over two folds."""
    pytest.importorskip("lightgbm")
    pytest.importorskip("catboost")
    root = scene.root / "blended"
    root.mkdir()
    draw = random.Random(0)
    lines = ["size,color,sold"]
    for _ in range(300):
        size, color = draw.gauss(0, 1), draw.choice("rgb")
        is_sold = size * (1 if color == "r" else -1) + draw.gauss(0, 0.5) > 0
        lines.append(f"{size:.4f},{color},{'yes' if is_sold else 'no'}")
    (root / "table.csv").write_text("\n".join(lines) + "\n")
    (root / "table.yaml").write_text(
        "task: {type: tabular, target: sold, importance: 0}\n"
        f"data: {{train: {root}/table.csv, split: {{validation: 20%, test: 20%}}}}\n"
        "model: {type: auto, folds: 2}\nruntime: {threads: 1}\n"
    )
    return undisturbed(root / "runs", scene.server, check(str(root / "table.yaml")))


@pytest.mark.parametrize("moment", range(MOMENTS))
def test_killed_at_any_moment_it_ends_with_the_same_bits(blended: Scene, tally: Tally, moment: int) -> None:
    run = blended.plan(f"killed-{moment}")
    attempt = blended.start(run, tally)
    time.sleep((moment + 1) / (MOMENTS + 1) * blended.seconds)
    attempt.kill()
    attempt.wait()
    tally.kills += 1
    blended.resume(run, tally)
    blended.assert_same(run, tally)


def test_a_fold_that_was_fitted_and_saved_is_not_fitted_again(blended: Scene, tally: Tally) -> None:
    run = blended.plan("once")
    attempt = blended.start(run, tally)
    while not any(run.checkpoints.glob("step-*")):
        time.sleep(0.02)
    attempt.kill()
    attempt.wait()
    saved = max(int(path.name.removeprefix("step-")) for path in run.checkpoints.glob("step-*"))
    blended.resume(run, tally)
    resumed = [record for record in EventsFile(run.events).read() if record.attempt == 2]
    steps = [record.event.step for record in resumed if isinstance(record.event, Stepped)]
    assert min(steps) == saved + 1
    blended.assert_same(run, tally)
