"""A task fits to validation what it wants, and rows are predicted again only if it did."""

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pytest

from burnish.run.attempt import Trained
from burnish.run.finish import refined
from burnish.run.predicting.scoring import Scorer
from burnish.run.preparation.prepared_data import PreparedData, PreparedTask
from burnish.spec.events import Ended
from burnish.spec.parts import ALONE
from burnish.spec.values import Profile


@dataclass(frozen=True)
class Task:
    fitted: dict[str, float]

    def refine(self, outcome: object, profile: Profile) -> Profile:
        return replace(profile, facts={**profile.facts, **self.fitted}) if self.fitted else profile


def trained(task: object, monkeypatch: pytest.MonkeyPatch) -> tuple[Trained, list[str]]:
    asked: list[str] = []
    monkeypatch.setattr(Scorer, "outcome", lambda self, split, infer, **_: asked.append(split) or f"of {split}")
    experiment: Any = SimpleNamespace(task=task)
    nothing: Any = SimpleNamespace(infer=None)
    prepared = PreparedData({ALONE: PreparedTask({}, {}, Profile("spans"), nothing, nothing, {})})
    return Trained(nothing, Scorer(experiment, prepared), nothing, nothing, Ended(0, "finished"), {}), asked


def test_what_was_predicted_to_fit_holds_where_nothing_was_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    before, asked = trained(Task({}), monkeypatch)
    after, known = refined(before)
    assert (after, known, asked) == (before, {"validation": "of validation"}, ["validation"])


def test_what_was_fitted_is_used_by_all_that_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    after, known = refined(trained(Task({"threshold": 0.5}), monkeypatch)[0])
    assert known == {}
    assert after.prepared.profile.facts == after.scorer.prepared.profile.facts == {"threshold": 0.5}
