"""Guesses which option was meant by a key that does not exist."""

from collections.abc import Sequence
from dataclasses import dataclass

from burnish.nearest import nearest

_ELSEWHERE_CALLED = {
    "lr": "learning_rate",
    "epochs": "length",
    "num_epochs": "length",
    "num_train_epochs": "length",
    "max_epochs": "length",
    "max_steps": "length",
    "steps": "length",
    "bs": "batch",
    "batch_size": "batch",
    "per_device_train_batch_size": "batch",
    "gradient_accumulation_steps": "accumulate",
    "grad_clip": "clip",
    "max_grad_norm": "clip",
    "max_seq_length": "max_length",
    "early_stopping": "patience",
    "early_stopping_patience": "patience",
    "eval_every": "evaluate_every",
    "save_every": "checkpoint_every",
    "warmup_ratio": "warmup",
    "warmup_steps": "warmup",
    "metric_for_best_model": "select",
    "num_threads": "threads",
}
"""What other tools call our options."""
_LIKENESS_ELSEWHERE = 0.8
"""An option of another section is offered only if it can hardly be chance that it looks alike."""


@dataclass(frozen=True)
class Option:
    """A legal option: the section it belongs to, and its key."""

    section: str
    key: str

    @property
    def path(self) -> str:
        """Write the option as a user would on the command line."""
        return f"{self.section}.{self.key}" if self.section else self.key


def suggestion(key: str, *, siblings: Sequence[Option], everywhere: Sequence[Option]) -> str:
    """Say what was probably meant by an unknown key, or else what its section takes."""
    slips = _near(key, siblings, likeness=1.0)
    meant = list(dict.fromkeys([*slips, *_same(key, everywhere)])) or _near(key, siblings)
    meant = meant or _near(key, everywhere, likeness=_LIKENESS_ELSEWHERE)
    if meant:
        return f"Did you mean {' or '.join(f'`{option.path}`' for option in meant[:2])}?"
    return f"Options here are {', '.join(option.key for option in siblings) or 'none'}."


def _same(key: str, options: Sequence[Option]) -> list[Option]:
    """Find the same key where it is legal, under our name for it."""
    last = key.rpartition(".")[2]
    same = [option for option in options if option.key in (last, _ELSEWHERE_CALLED.get(last)) or option.path == key]
    return sorted(same, key=lambda option: option.path.count("."))


def _near(key: str, options: Sequence[Option], *, likeness: float = 0.6) -> list[Option]:
    close = nearest(key.rpartition(".")[2], [option.key for option in options], likeness=likeness)
    return [option for option in options if option.key == close][:1]
