"""Turns a network's answers about a table into probabilities and decisions, or into numbers in the user's unit."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from burnish.spec.values import Array, Outcome, Profile
from burnish.tasks.labels import Measure
from burnish.tasks.probabilities import Calibration, softmax


def decode(outputs: "Mapping[str, Array]", profile: Profile, *, threshold: float) -> Outcome:
    """Average the members of an ensemble, then decide; one entry a row, in row order."""
    rows, first = np.unique(outputs["row"], return_index=True)
    logits = outputs["logits"][first].astype(np.float64)
    members = logits[:, None, :] if logits.ndim == 2 else logits
    label, weights = (outputs[name][first] if name in outputs else None for name in ("label", "weight"))
    weights = None if weights is None else weights.astype(np.float64)
    if profile.kind == "regression":
        measure = Measure.of_profile(profile)
        values = measure.answers(members[:, :, 0]).mean(axis=1)
        truth = None if label is None else measure.truth(label.astype(np.float64))
        return Outcome("regression", rows, values, values, truth, weights=weights)
    fitted: Mapping[str, Any] = profile.facts.get("fitted", {})
    shares = Calibration.from_json(fitted.get("calibration")).applied(softmax(members).mean(axis=1))
    threshold = float(fitted.get("threshold", threshold))
    chosen = (shares[:, 1] >= threshold).astype(np.int64) if profile.kind == "binary" else shares.argmax(axis=1)
    return Outcome(profile.kind, rows, shares, chosen, label, profile.labels, weights=weights, names=profile.names)
