"""Starts the trials of a study as forks of one process, spread over the GPUs."""

import os
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from burnish.engine.device import list_gpus
from burnish.errors import BurnishError, LaunchError
from burnish.launch.forks import ForkServer
from burnish.run import worker
from burnish.run.record.directory import RunDirectory, write_json
from burnish.run.record.ending import refusal

_MODULE = "burnish.tuning.forks"
_OF_MODELS = {"transformer": ("burnish.models.transformers.transformer_torch",)}
"""What takes long to import besides, by the name of a model."""


class TrialStarter:
    """Asks the process for trials; a context, at whose end it is let go."""

    def __init__(self, model: str = "") -> None:
        self._turn = threading.Lock()
        self._trials_on = dict.fromkeys(list_gpus(), 0)
        """How many trials train on each GPU."""
        self._server = ForkServer([_MODULE, *_OF_MODELS.get(model, ())])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def start(self, run: Path, options: Sequence[str], *, cores: Sequence[int], log: Path) -> Iterator[str]:
        """Start a worker on a planned run, and give each line it prints until it has ended."""
        with self._reserve_gpu() as gpu, log.open("ab") as words:
            env = {} if gpu is None else {"CUDA_VISIBLE_DEVICES": gpu}  # which the process has not asked for anything
            if cores:
                env["BURNISH_CORES"] = str(len(cores))
            argv = [_MODULE, str(log), str(run), *options]
            try:
                trial = self._server.start(argv, env=env, cores=cores, stderr=words.fileno())
            except LaunchError:
                return  # as if it had died: who reads the files of its run starts it again, a few times
            assert trial.stdout is not None
            with trial.stdout as lines:
                yield from lines
            trial.wait()

    @contextmanager
    def _reserve_gpu(self) -> Iterator[str | None]:
        """Choose the GPU on which the fewest trials train; None where there is no choice."""
        if len(self._trials_on) < 2:
            yield None
            return
        with self._turn:
            gpu = min(self._trials_on, key=self._trials_on.__getitem__)
            self._trials_on[gpu] += 1
        try:
            yield gpu
        finally:
            with self._turn:
                self._trials_on[gpu] -= 1


def main(argv: Sequence[str]) -> int:
    """Train a trial; where the user's code fails, or ours, its run says so and the study goes on without it."""
    log, run, *options = argv
    try:
        return worker.main([run, *options])
    except Exception as error:
        traceback.print_exc()
        sentence = BurnishError(f"{type(error).__name__}: {error}; the traceback is in {log}")
        write_json(RunDirectory(Path(run)).exit, {"reason": "failed", **refusal(sentence)})
        return os.EX_SOFTWARE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
