"""Many values are scaled in parts, and no part shows."""

import numpy as np
import pytest

from burnish.tasks.tabular import fit as table_scaling
from burnish.tasks.tabular.fit import fit_scaling, scaled


@pytest.mark.parametrize("how", ["quantile", "zscore", "robust", "log", "none"])
def test_values_scaled_in_parts_are_those_scaled_at_once(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).gamma(2, 3, 1000) - 2
    scaling = fit_scaling(np.sort(values), how)
    at_once = scaled(values, scaling)
    monkeypatch.setattr(table_scaling, "_AT_ONCE", 64)
    np.testing.assert_array_equal(scaled(values, scaling), at_once)
