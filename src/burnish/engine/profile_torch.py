"""Measures the first steps of a run with torch's profiler: a trace to look at, and a table of what took the time."""

from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

from burnish.engine.state import StepOutput, Steppable

_ROWS = 40
_WARM_STEPS = 1
"""The first step of all makes what later ones only use."""


class ProfiledSteps:
    """Take steps as another would, and write down where the time of the first few goes."""

    def __init__(self, steps: Steppable, folder: Path, *, num_steps: int) -> None:
        self._steps = steps
        self._folder = folder
        self._left = num_steps
        self._warm = _WARM_STEPS
        devices = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if torch.cuda.is_available() else [])]
        self._profile = profile(activities=devices, record_shapes=True)

    def advance(self, step: int, factor: float) -> StepOutput:
        """Take a step, measured while any are left to be."""
        if not self._left:
            return self._steps.advance(step, factor)
        if self._warm:
            self._warm -= 1
            taken = self._steps.advance(step, factor)
            self._profile.start()
            return taken
        taken = self._steps.advance(step, factor)
        self._left -= 1
        if not self._left:
            self.finish()
        return taken

    def finish(self) -> None:
        """Write the trace and the table."""
        self._profile.stop()
        self._folder.mkdir(parents=True, exist_ok=True)
        self._profile.export_chrome_trace(str(self._folder / "trace.json"))
        table = self._profile.key_averages().table(sort_by="self_cpu_time_total", row_limit=_ROWS)
        (self._folder / "table.txt").write_text(table)

    def cursor(self) -> dict[str, int]:
        """Find the position in the data."""
        return self._steps.cursor()

    @property
    def learning_rate(self) -> float:
        """The rate of the last step."""
        return self._steps.learning_rate
