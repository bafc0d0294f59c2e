"""The scale of a target is refused when it is read, and not at the first batch."""

from typing import Any

import pytest

from burnish.spec.values import Profile
from burnish.tasks.tabular.encoder import TableEncoder
from burnish.tasks.tabular.plan import TablePlan


@pytest.mark.parametrize("target", [7, [], {"spread": "wide"}, {"transform": "root"}, {"link": None}], ids=str)
def test_an_encoder_refuses_a_scale_that_is_none(target: Any) -> None:
    profile = Profile("regression", facts={"target": target})
    with pytest.raises(ValueError, match=r"Measure|target|spread|transform|link"):
        TableEncoder(TablePlan((), (), ()), profile, {}, "y")
