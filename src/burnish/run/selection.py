"""The metrics of a run and the score that selects; refuses what the labels turn out not to give."""

from collections.abc import Iterator, Mapping, Sequence
from math import log
from statistics import fmean
from typing import Literal

from burnish.errors import ConfigError, Problem
from burnish.registry import default_registry
from burnish.spec.experiment import Experiment, Select
from burnish.spec.parts import ALONE, divide_tasks
from burnish.spec.protocols import Metric
from burnish.spec.values import Profile

LOSS = "loss"
"""What training minimises, as far as a score tells it; of several tasks the mean of theirs, which is a score itself."""
AUTO = "auto"
_OF_CLASSES, _OF_TOKENS = "log_loss", "perplexity"
_OF_LOSSES, _OF_SQUARES = ("poisson_deviance", "gamma_deviance", "pinball"), ("mse", "rmse")
_OF_PARTS = (_OF_CLASSES, _OF_TOKENS, "r2")
_FEW_ROWS = 1000
"""An accuracy over fewer validation rows than this moves in coarse steps, and mostly by chance."""


def refuse_misfits(experiment: Experiment, profile: Profile) -> None:
    """Refuse every option that does not fit the labels: asked as soon as they are known, before anything is encoded."""
    problems = [*_misfits(experiment, profile)]
    try:
        experiment.task.head(profile)
    except ConfigError as error:
        problems.extend(error.problems)
    if problems:
        raise ConfigError(problems)


def refuse_unlike(parts: Mapping[str, Experiment], profiles: Mapping[str, Profile]) -> None:
    """Refuse tasks whose first scores have no mean, for one of them falls where another rises."""
    sentences = (falling(name, part, part.task.metrics(profiles[name])) for name, part in parts.items())
    problems = [Problem(sentence) for sentence in sentences if sentence]
    if problems:
        raise ConfigError(problems)


def falling(name: str, part: Experiment, own: Sequence[Metric]) -> str | None:
    """Say that the first score of a task among several is better when it is lower, and which of its own rise."""
    metric = main_metric(own if part.metrics is None else part.metrics)
    if metric.better == "higher":
        return None
    rising = [type_name(each) for each in own if each.better == "higher" and not is_count(each)]
    put_first = f", like [{rising[0]}, {type_name(metric)}]" if rising else ""
    return (
        f"task.scores.{name}: its first score, {metric.names()[0]}, is better when it is lower, so it has no mean with "
        f"those of other tasks; begin task.scores.{name} with a score that rises{put_first}"
    )


def main_metric(metrics: Sequence[Metric]) -> Metric:
    """Give the metric that judges: the first that does not only count."""
    return next((metric for metric in metrics if not is_count(metric)), metrics[0])


def metrics_of(experiment: Experiment, profile: Profile) -> Sequence[Metric]:
    """Give the metrics asked for, or the task's own."""
    return experiment.task.metrics(profile) if experiment.metrics is None else experiment.metrics


def selection(
    select: Select, metrics: Sequence[Metric], *, losses: Sequence[str], num_rows: int
) -> tuple[str, Literal["max", "min"]]:
    """Give the score by which the best checkpoint is chosen from so many validation rows, and its direction.

    `losses` are the scores that tell what training minimises, the best teller first.
    """
    score = judging(select, metrics)
    is_coarse = select.score == AUTO and score == "accuracy" and num_rows < _FEW_ROWS
    if select.score == LOSS or is_coarse:
        names = [name for metric in metrics for name in metric.names()]
        score = next((name for name in losses if name in names), score)
    owner = next(metric for metric in metrics if score in metric.names())
    if select.direction != "auto":
        return score, select.direction
    return score, "max" if owner.better == "higher" else "min"


def judging(select: Select, metrics: Sequence[Metric]) -> str:
    """Name the score that a run is judged by: the one that it is told to select by, or the first."""
    stated = None if select.score in (LOSS, AUTO) else select.score
    return stated or headline(metrics) or ""


def headline(metrics: Sequence[Metric]) -> str | None:
    """Name the score that selects if none is named: the first that judges; None when all of them only count."""
    return next((metric.names()[0] for metric in metrics if not is_count(metric)), None)


def loss_scores(experiment: Experiment) -> tuple[str, ...]:
    """Name the scores that tell what training minimises, the best teller first.

    Which of them a run has depends on the kind of its labels. The error of a root or the exponential of a loss tells
    the same order.
    """
    parts = divide_tasks(experiment)
    if ALONE not in parts:
        return () if why_no_loss(experiment) else (LOSS,)
    usual = {name for metric in experiment.task.metrics(None) for name in metric.names()}
    scored = score_names(experiment)
    of_numbers = [name for name in _OF_LOSSES if name in usual] or _OF_SQUARES
    return tuple(name for name in (_OF_CLASSES, *of_numbers, _OF_TOKENS) if name in scored)


def why_no_loss(experiment: Experiment) -> str:
    """Name those of several tasks of which no score is the loss, and what would be; nothing where all have one."""
    silent = [name for name, part in divide_tasks(experiment).items() if not {*_OF_PARTS} & {*score_names(part)}]
    places = " and ".join(f"task.scores.{name}" for name in silent)
    return f"; for `{LOSS}`, {places} must have {', '.join(_OF_PARTS[:-1])} or {_OF_PARTS[-1]}" if silent else ""


def score_names(experiment: Experiment) -> list[str]:
    """Name the scores that an experiment of one task may have."""
    metrics = experiment.task.metrics(None) if experiment.metrics is None else experiment.metrics
    return list(dict.fromkeys(name for metric in metrics for name in metric.names()))


def mean_loss(parts: Sequence[Mapping[str, float]]) -> float | None:
    """Average the losses of several tasks that their scores tell; None where one of them tells none."""
    told = [_loss_of(scores) for scores in parts]
    return None if None in told else fmean(each for each in told if each is not None)


def is_count(metric: Metric) -> bool:
    """Tell whether a metric counts rows, so that neither more nor less is better."""
    return getattr(metric, "scale", "value") == "count"


def unfit(metric: Metric, kind: str, *, fitting: Sequence[Metric], place: str = "metrics") -> str:
    """Say that a metric does not score a kind of labels, and which do."""
    others = ", ".join(dict.fromkeys(map(type_name, fitting)))
    return f"{place}: {type_name(metric)} does not score {kind} labels; these do: {others}"


def type_name(metric: Metric) -> str:
    """Give the name by which a config asks for a metric."""
    return default_registry().name_of("metrics", type(metric))


def _loss_of(scores: Mapping[str, float]) -> float | None:
    if _OF_CLASSES in scores:
        return scores[_OF_CLASSES]
    if _OF_TOKENS in scores:
        return log(scores[_OF_TOKENS])
    # Targets are learned in units of their deviation, in which this is the mean squared error.
    return 1 - scores["r2"] if "r2" in scores else None


def _misfits(experiment: Experiment, profile: Profile) -> Iterator[Problem]:
    from burnish.metrics.tally import rehearse

    names: list[str] = []
    for metric in metrics_of(experiment, profile):
        if not metric.applies(profile.kind):
            yield Problem(unfit(metric, profile.kind, fitting=experiment.task.metrics(profile)))
            continue
        try:
            names += rehearse([metric], kind=profile.kind, labels=profile.labels)
        except ConfigError as error:
            yield from error.problems
    score = experiment.train.select.score
    if score not in (None, LOSS, AUTO) and score not in names:
        yield Problem(
            f"train.select.score must be one of {', '.join(names)} with the {profile.kind} labels of this data, "
            f"got {score!r}"
        )
