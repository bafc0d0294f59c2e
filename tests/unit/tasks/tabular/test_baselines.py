"""What a model over a table must beat fits what it was asked to learn."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import mean_gamma_deviance, mean_poisson_deviance

from burnish.spec.values import BaselineRequest, Outcome, RowOrigins, Rows
from burnish.tasks.tabular import Tabular
from burnish.tasks.tabular.baselines import linear_baselines

DEVIANCES = {"poisson": mean_poisson_deviance, "gamma": mean_gamma_deviance}


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_under_a_log_link_the_linear_baseline_has_one_too_and_beats_the_mean(loss: str) -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(600, 2))
    mean = np.exp(1.5 * x[:, 0] - 1)
    y = random.poisson(mean).astype(float) if loss == "poisson" else mean * random.gamma(2, 0.5, 600)
    table = pa.table({"a": x[:, 0], "b": x[:, 1], "y": y})
    task = Tabular(target="y", kind="regression", loss=loss, normalise="zscore")
    profile = task.profile(Rows(table, RowOrigins((), np.zeros(600, int), np.arange(600), ())))
    encoder = task.encoder(profile, None)  # type: ignore[arg-type]  # no assets needed
    train, scored = encoder.encode(table.slice(0, 400)), encoder.encode(table.slice(400))
    outcome = Outcome("regression", np.arange(200), y[400:], y[400:], y[400:])
    features = {"train": train, "test": scored}
    found = linear_baselines(
        BaselineRequest({}, features, pytest.fail, profile, "test", outcome, seed=0, is_grown=True, note=pytest.fail)
    )
    assert list(found) == ["mean", "log_linear"]
    said = {name: DEVIANCES[loss](y[400:], each.outputs) for name, each in found.items()}
    true = DEVIANCES[loss](y[400:], mean[400:])
    assert found["log_linear"].outputs.min() > 0
    assert said["log_linear"] < true + 0.2 * (said["mean"] - true)
    assert all(each.times.fit_seconds > 0 and each.times.predict_seconds > 0 for each in found.values())
