"""Training against transformers' Trainer, and against the peak of this machine, in turn on the same rows."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from bench.harness.blocks import Block, compare_rates
from bench.harness.contest import Entrant, started
from bench.harness.pairs import fastest, take_turns
from bench.harness.roof_torch import TRAINING_PASSES
from bench.harness.stage import Stage, staged
from bench.sets import DataSet
from bench.tables import RATES_HEAD, rates, spread
from burnish.commands.bench import Spread
from burnish.commands.config import check

OURS = "Burnish"
_WORKERS = (0, 1)
_ATTENTION = ("sdpa", "eager")


def training(sets: Sequence[DataSet], *, rounds: int, tell: Callable[[str], None]) -> Iterator[str]:
    """Race on each set; then give the table of rates and that of operations."""
    found = []
    for each in sets:
        tell(f"training on {each.name}")
        with staged(check(each.experiment, overrides=each.overrides), rows=each.rows) as stage:
            assert stage.no_peers is None, stage.no_peers
            results = _race(each, stage, rounds=rounds, tell=tell)
            found.append((_label(each, stage), results, stage))
    yield from [*RATES_HEAD, *(line for name, results, _ in found for line in rates(name, _racers(results), ours=OURS))]
    yield ""
    yield from _ROOF_HEAD
    for name, results, stage in found:
        yield from _roof_lines(name, results, stage)


def best_flags(each: DataSet, stage: Stage, *, tell: Callable[[str], None]) -> dict[str, object]:
    """Try what Trainer can be told on a quarter of the rows, one thing after the other, and give what is fastest."""
    flags: dict[str, object] = {
        "is_grouped": True,
        "bf16": stage.precision == "bf16",
        "arguments": {"optim": "adamw_torch_fused"},
    }
    named = []
    for option, values in {"attention": _ATTENTION, "workers": _WORKERS}.items():
        tried = {f"{value} {option}": {**flags, option: value} for value in values}
        chosen = fastest_peer(each, stage, "train", tried)
        flags, named = tried[chosen], [*named, chosen]
    tell(f"Trainer is taken with {', '.join(named)}")
    return {**flags, "named": ", ".join(named)}


def fastest_peer(each: DataSet, stage: Stage, function: str, tried: Mapping[str, Mapping[str, object]]) -> str:
    """Name the flags with which a peer is fastest on a quarter of the rows; the first ones when nothing is tried."""
    if not each.is_tried:
        return next(iter(tried))
    rows = max(1, stage.num_examples // 4)
    with started({name: stage.peer(function, **flags, rows=rows) for name, flags in tried.items()}) as contestants:
        return fastest(contestants)


def _race(each: DataSet, stage: Stage, *, rounds: int, tell: Callable[[str], None]) -> dict[str, list[Block]]:
    entrants = _entrants(each, stage, best_flags(each, stage, tell=tell))
    with started(entrants) as contestants:
        return take_turns(contestants, rounds=rounds, tell=tell)


def _entrants(each: DataSet, stage: Stage, best: Mapping[str, object]) -> dict[str, Entrant]:
    precision = "bf16" if best["bf16"] else "fp32"
    named = f"Trainer, best flags: grouped by length, {precision}, fused AdamW, {best['named']}"
    entrants = {OURS: stage.ours("train"), "Trainer, defaults": stage.peer("train"), named: stage.peer("train", **best)}
    if each.pad_to is not None:
        # Every batch has the same shape, so a quarter of the rows tells as much as all of them.
        habit = stage.peer("train", pad_to=each.pad_to, rows=max(1, each.rows // 4))
        entrants[f"Trainer, all padded to {each.pad_to}"] = habit
    return {**entrants, **{_roof(kind): stage.roof(kind) for kind in _precisions(stage)}}


def _precisions(stage: Stage) -> list[str]:
    return ["fp32", "bf16"] if stage.precision == "bf16" else ["fp32"]


def _roof(precision: str) -> str:
    return f"roof {precision}"


def _racers(results: Mapping[str, list[Block]]) -> dict[str, list[Block]]:
    return {name: blocks for name, blocks in results.items() if not name.startswith("roof ")}


_ROOF_HEAD = [
    "| set | precision | peak of matrix products, GFLOP/s | Burnish's model, GFLOP/s | share | waiting for data |",
    "| --- | --- | ---: | ---: | ---: | ---: |",
]


def _roof_lines(name: str, results: Mapping[str, list[Block]], stage: Stage) -> Iterator[str]:
    assert stage.forward_flops is not None
    model = [TRAINING_PASSES * stage.forward_flops / block.seconds for block in results[OURS]]
    waited = Spread.of([block.waited_seconds / block.seconds for block in results[OURS]])
    for precision in _precisions(stage):
        peak = [block.flops_rate for block in results[_roof(precision)]]
        is_used = precision == stage.precision
        cells = [
            spread(Spread.of(peak), 0, scale=1e-9),
            spread(Spread.of(model), 0, scale=1e-9) if is_used else "",
            spread(compare_rates(model, peak), 1, unit="%", scale=100) if is_used else "",
            spread(waited, 1, unit="%", scale=100) if is_used else "",
        ]
        yield f"| {name} | {precision} | {' | '.join(cells)} |"


def _label(each: DataSet, stage: Stage) -> str:
    return f"{each.name}, {stage.num_examples:,} rows" + (f" ({each.note})" if each.note else "")
