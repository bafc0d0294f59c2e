"""Puts baselines next to the scores of a run: what simple models say of the rows that it was scored on."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from burnish.run.attempt import Trained
from burnish.run.finish import Finished
from burnish.run.predicting.scoring import scored
from burnish.run.record.events_file import EventsFile
from burnish.run.record.history import training_seconds
from burnish.run.record.result import THIS_RUN, ScoreSheet
from burnish.spec.parts import ALONE
from burnish.spec.values import BaselineRequest, Outcome, Times


def compare(trained: Trained, finished: Finished) -> ScoreSheet:
    """Add baselines to the scores, on the test rows or else on those of validation, and how long each took."""
    parts, outcomes = trained.scorer.parts, finished.outcomes
    split = next(split for split in ("test", "validation") if _is_known(outcomes.get(split, {}), parts))
    said: dict[str, dict[str, Outcome]] = {}
    for name, outcome in outcomes[split].items():
        scorer = parts[name]
        task, experiment = scorer.prepared.parts[ALONE], scorer.experiment
        request = BaselineRequest(
            rows=task.rows,
            features=task.features,
            batch_of=task.batch_of,
            profile=task.profile,
            split=split,
            outcome=outcome,
            seed=experiment.runtime.seed,
            is_grown=experiment.model.is_grown,
            note=trained.run.sinks.note,
        )
        for baseline, found in experiment.task.baselines(request).items():
            said.setdefault(baseline, {})[name] = found
    scores = {
        baseline: scored({name: (part.metrics, found.get(name)) for name, part in parts.items()})
        for baseline, found in said.items()
    }
    fit_seconds = training_seconds(EventsFile(trained.run.directory.events).read())
    own = replace(_total(each.times for each in outcomes[split].values()), fit_seconds=fit_seconds)
    times = {name: _total(each.times for each in found.values()) for name, found in said.items()}
    return replace(finished.sheet, baselines=scores, times={THIS_RUN: own, **times})


def _is_known(outcomes: Mapping[str, Outcome], tasks: Collection[str]) -> bool:
    return all(name in outcomes and outcomes[name].truth is not None for name in tasks)


def _total(times: Iterable[Times]) -> Times:
    pairs = [(each.fit_seconds or 0.0, each.predict_seconds or 0.0) for each in times]
    return Times(*(round(sum(seconds), 6) for seconds in zip(*pairs, strict=True)))
