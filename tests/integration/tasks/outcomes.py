"""What untrained networks of some runs say of their validation rows; run as a module, one rank of several."""

import sys
from pathlib import Path

import numpy as np

from burnish.artifact.predictor import views
from burnish.data.batches import evaluation_plan
from burnish.dist.world import World, world_from_environment
from burnish.engine.evaluate import infer_all
from burnish.run.assemble import build_learner
from burnish.run.directory import RunDirectory
from burnish.run.plan import read_plan
from burnish.run.prepare import prepare

EXAMPLES = 5
"""Few a batch, so that every process has some."""


def outcome_of(run: Path, world: World) -> dict[str, np.ndarray]:
    """Give rows, outputs and decisions of one run, by name."""
    experiment = read_plan(RunDirectory(run))
    prepared = prepare(experiment, RunDirectory(run), tell=lambda _note: None, is_recorded=False)
    learner = build_learner(experiment, prepared, world)
    plan = evaluation_plan(prepared.features["validation"]["length"].to_numpy(), examples=EXAMPLES)
    outputs = infer_all(learner.infer, prepared.collate("validation"), plan, draws=views(experiment), world=world)
    said = experiment.task.decode(outputs, prepared.profile, prepared.rows["validation"].table)
    return {f"{run.parent.name}/{name}": getattr(said, name) for name in ("rows", "outputs", "decisions", "truth")}


def main(out: Path, runs: list[Path]) -> None:
    world = world_from_environment()
    found = {name: array for run in runs for name, array in outcome_of(run, world).items()}
    np.savez(out / f"rank{world.rank}.npz", **found)
    world.barrier()
    world.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(each) for each in sys.argv[2:]])
