"""Trains the same network by whole columns and by single rows, in turn in one process; prints rows a second as JSON.

python -m bench.table_contest FILE NETWORK BATCH ROUNDS
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.harness.pairs import take_turns
from bench.table_turn import experiment_of

ROWS_BY_ROW = 4_000
"""Rows that a loop over single rows is given: enough to tell its pace."""


def main() -> None:
    """Hold the contest that was asked for."""
    file, network, batch, rounds = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(contest(Path(file), Path(folder), network, batch=int(batch), rounds=int(rounds))))


def contest(file: Path, folder: Path, network: str, *, batch: int, rounds: int) -> dict[str, list[float]]:
    """Give rows a second of processor time, for each who trains, round by round."""
    from bench.table_loop_torch import HABITS, epoch_by_rows
    from burnish.dist.world import Solo
    from burnish.engine.device_torch import prepare as prepare_device
    from burnish.run.build import build_learner
    from burnish.run.preparation.prepare import prepare
    from burnish.tasks.tabular.plan import TablePlan

    experiment = experiment_of(file, folder, network, batch=batch)
    prepare_device(experiment.runtime)
    prepared = prepare(experiment)
    learner = build_learner(experiment, prepared, Solo())
    rows = prepared.rows["train"].table.slice(0, ROWS_BY_ROW).to_pylist()
    plan = TablePlan.from_json(prepared.profile.facts["table"])
    turns: dict[str, Callable[[], float]] = {"ours": lambda: _ours(experiment, prepared, learner)}
    for name, habit in HABITS.items():
        data = habit(rows, plan, prepared.profile.labels)
        turns[name] = lambda data=data: _timed(  # type: ignore[misc]  # the row set of this turn
            lambda: epoch_by_rows(learner, data, batch=batch), num_rows=len(rows)
        )
    return take_turns(turns, rounds=rounds, warmups=1)


def _ours(experiment: Any, prepared: Any, learner: Any) -> float:
    from burnish.dist.world import Solo
    from burnish.run.build import build_feed, build_stream
    from burnish.run.predicting.scoring import Scorer

    stream = build_stream(experiment, prepared, Solo())
    feed = build_feed(Scorer(experiment, prepared), learner, stream=stream)

    def train() -> None:
        for step in range(stream.batches_in(0)):
            feed.advance(step, 1.0)

    try:
        return _timed(train, num_rows=prepared.features["train"].num_rows)
    finally:
        feed.close()


def _timed(train: Callable[[], None], *, num_rows: int) -> float:
    began = time.process_time()
    train()
    return num_rows / (time.process_time() - began)


if __name__ == "__main__":
    main()
