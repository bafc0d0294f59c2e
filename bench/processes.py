"""Two processes that train as one: against one process on the same cores, and against Trainer under torchrun."""

from collections.abc import Callable, Iterator, Sequence

from bench.harness.contest import Entrant, started
from bench.harness.pairs import take_turns
from bench.harness.stage import Stage, staged
from bench.sets import DataSet
from bench.tables import RATES_HEAD, rates
from burnish.commands.config import check

OURS = "Burnish, 2 processes"
_SHARE = 4
"""One of so many rows of a set is enough: every turn is one epoch of four contestants."""


def processes(sets: Sequence[DataSet], *, rounds: int, tell: Callable[[str], None]) -> Iterator[str]:
    """Race on the first set, in float32: the same global batch, grouped by length, fused AdamW for all."""
    each = sets[0]
    yield from RATES_HEAD
    with staged(
        check(each.experiment, overrides=(*each.overrides, "runtime.precision=fp32")), rows=each.rows // _SHARE
    ) as stage:
        assert stage.no_peers is None, stage.no_peers
        with started(_entrants(stage)) as contestants:
            results = take_turns(contestants, rounds=rounds, tell=tell)
        yield from rates(f"{each.name}, {stage.num_examples:,} rows", results, ours=OURS)


def _entrants(stage: Stage) -> dict[str, Entrant]:
    flags = {"is_grouped": True, "arguments": {"optim": "adamw_torch_fused"}}
    return {
        OURS: stage.ours("train", processes=2),
        "Burnish, 1 process, 2 threads": stage.ours("train"),
        "Trainer, 2 processes, DDP over gloo, eager attention": stage.peer(
            "train", processes=2, attention="eager", **flags
        ),
        "Trainer, 2 processes, DDP over gloo, sdpa": stage.peer("train", processes=2, attention="sdpa", **flags),
    }
