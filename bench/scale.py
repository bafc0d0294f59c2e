"""Scale on paper: what a step costs on more processes, by a formula that is held against two processes here."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from bench.harness.contest import Contestant, Entrant, started
from bench.harness.sample import take_sample
from bench.harness.stage import Stage, staged
from bench.sets import DataSet
from burnish.commands.config import check

_BATCH = 32
_SIZES = (4 * 2**10, 64 * 2**10, 2**20, 8 * 2**20, 64 * 2**20)
_TIMES = 8
_SUMS = 7
"""Small messages of a step, besides those of gradients."""
_BUCKET_BYTES = 8 * 2**20
_PROCESSES = (1, 2, 4, 8, 16, 32, 64)
_BATCHES = (32, 256, 2048)


@dataclass(frozen=True)
class Link:
    """What a message costs: so many seconds, and bytes a second."""

    name: str
    latency: float
    bandwidth: float


@dataclass(frozen=True)
class Step:
    """What a step costs one process on one core, and what it sends."""

    fixed: float
    """Seconds that more processes do not share: the optimizer's sweep, the norm of the gradient, Python."""
    each: float
    """Seconds for an example, forth and back."""
    sent: int
    """Bytes of gradient, without the rows of embeddings that nobody used."""

    def seconds(self, batch: int, processes: int, link: Link) -> float:
        """Predict a step of a ring of processes, none of whose messages is hidden behind the backward pass."""
        computed = self.fixed + self.each * batch / processes
        if processes == 1:
            return computed
        messages = -(-self.sent // _BUCKET_BYTES) + _SUMS
        hops = 2 * (processes - 1)
        return computed + messages * hops / 2 * link.latency + hops / processes * self.sent / link.bandwidth


def scale(sets: Sequence[DataSet], *, rounds: int, tell: Callable[[str], None]) -> Iterator[str]:
    """Measure steps and messages, predict two processes from one, and then more of them."""
    each = replace(sets[0], rows=sets[0].rows // 4)
    whole = check(each.experiment, overrides=(*each.overrides, "runtime.precision=fp32", f"train.batch={_BATCH}"))
    halves = check(each.experiment, overrides=(*each.overrides, "runtime.precision=fp32", f"train.batch={_BATCH // 2}"))
    with staged(whole, rows=each.rows) as stage, staged(halves, rows=each.rows) as half:
        seconds, messages = _measured(stage, half, rounds=rounds, tell=tell)
        steps = stage.num_examples / _BATCH
        one, two = seconds["one"] / steps, seconds["two"] / steps
        shared = seconds["half"] / steps / 2
        step = Step(fixed=2 * shared - one, each=(one - shared) / (_BATCH / 2), sent=_sent(stage))
    here = Link("this machine, gloo over loopback", messages[_SIZES[0]], _bandwidth(messages))
    yield from _link_table(messages)
    yield from _check_table(step, here, one=one, shared=shared, two=two)
    yield from _forecast_table(step, here)


def _measured(
    stage: Stage, half: Stage, *, rounds: int, tell: Callable[[str], None]
) -> tuple[dict[str, float], dict[int, float]]:
    """Take turns; keep the fastest of each, for noise only adds."""
    alone = {"BURNISH_CORES": "1"}
    entrants = {
        "one": replace(stage.ours("train"), env=alone),
        "half": replace(half.ours("train"), env=alone),
        "two": stage.ours("train", processes=2),
        "link": Entrant("bench.harness.links_torch:add_up", {"sizes": _SIZES, "times": _TIMES}, processes=2),
    }
    seconds: dict[str, float] = {}
    messages: dict[int, float] = {}
    with started(entrants) as contestants:
        link = contestants.pop("link")
        for number in range(-1, rounds):
            tell(f"round {number + 1} of {rounds}" if number >= 0 else "warming up")
            _turn(contestants, link, seconds, messages, is_kept=number >= 0)
    return seconds, messages


def _turn(
    contestants: dict[str, Contestant],
    link: Contestant,
    seconds: dict[str, float],
    messages: dict[int, float],
    *,
    is_kept: bool,
) -> None:
    for name, contestant in contestants.items():
        block = contestant()
        if is_kept:
            seconds[name] = min(block.seconds, seconds.get(name, block.seconds))
    for size in _SIZES:
        block = link()
        if is_kept:
            messages[size] = min(block.seconds, messages.get(size, block.seconds))


def _sent(stage: Stage) -> int:
    """Count the bytes of a step's gradient; of the table of words only the rows of a batch, if no token came twice."""
    sample = take_sample(stage.request)
    experiment, prepared = sample.experiment, sample.prepared
    network = experiment.model.network(experiment.task.head(prepared.profile), prepared.assets)
    words = network.model.get_input_embeddings().weight
    tokens = int(sample.lengths.sum() / (len(sample.lengths) / _BATCH))
    total = sum(each.nbytes for each in network.parameters() if each.requires_grad)
    return int(total - words.nbytes + words[:1].nbytes * tokens + len(words))


def _bandwidth(messages: dict[int, float]) -> float:
    small, large = _SIZES[0], _SIZES[-1]
    return (large - small) / (messages[large] - messages[small])


def _link_table(messages: dict[int, float]) -> Iterator[str]:
    yield from ("| all-reduce between two processes | ms | GB/s |", "| ---: | ---: | ---: |")
    for size, seconds in messages.items():
        shown = f"{size // 2**20} MB" if size >= 2**20 else f"{size // 2**10} KB"
        yield f"| {shown} | {1e3 * seconds:.2f} | {size / seconds / 1e9:.2f} |"
    yield ""


def _check_table(step: Step, link: Link, *, one: float, shared: float, two: float) -> Iterator[str]:
    estimated = step.seconds(_BATCH, 2, link)
    yield from ("| a step of 32 examples | ms |", "| --- | ---: |")
    yield f"| one process on one core | {1e3 * one:.0f} |"
    yield f"| the same with half of the examples | {1e3 * shared:.0f} |"
    yield f"| of which every process pays all, by these two | {1e3 * step.fixed:.0f} |"
    yield f"| gradient sent, {step.sent / 2**20:.1f} MB, by the table above | {1e3 * (estimated - shared):.0f} |"
    yield f"| two processes, estimated | {1e3 * estimated:.0f} |"
    yield f"| two processes, measured | {1e3 * two:.0f} ({two / estimated:.2f} of the estimate) |"
    yield ""


def _forecast_table(step: Step, here: Link) -> Iterator[str]:
    links = (here, Link("10 Gbit/s, 50 µs", 50e-6, 1.25e9), Link("100 Gbit/s, 10 µs", 10e-6, 12.5e9))
    yield f"| examples a step | link | {' | '.join(f'{number} proc.' for number in _PROCESSES)} |"
    yield f"| ---: | --- |{' ---: |' * len(_PROCESSES)}"
    for batch in _BATCHES:
        alone = step.seconds(batch, 1, here)
        for link in links:
            speeds = [alone / step.seconds(batch, number, link) for number in _PROCESSES]
            yield f"| {batch:,} | {link.name} | {' | '.join(f'{speed:.1f}x' for speed in speeds)} |"
