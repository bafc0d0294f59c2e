"""Rows from a data set by its hub name, through the `datasets` package."""

from collections.abc import Mapping
from typing import Annotated

from burnish.data.options import FURTHER, Limit, SplitPlan, Values
from burnish.spec.component import Component
from burnish.spec.protocols import DataRequest
from burnish.spec.values import Splits


class Hub(Component):
    """A data set from the Hugging Face hub (or a local copy), by name."""

    shorthand = "name"

    name: str
    """Like `stanfordnlp/imdb`, or a directory laid out as a hub data set."""
    config: str | None = None
    """Which of the data set's configurations, like `sst2` of `nyu-mll/glue`."""
    revision: str | None = None
    train: str = "train"
    """The hub's name of the split to train on."""
    validation: str | None = None
    """By default the one called validation, valid or dev, if there is one."""
    test: str | None = None
    """By default the one called test, if there is one and its labels are known."""
    also: Annotated[Mapping[str, str], FURTHER] = {}
    """Further splits to score when the run is over, by a name you choose, like `validation_rare: rare`.

    A split of another configuration is written `de/test`.
    """
    split: SplitPlan = SplitPlan()
    limit: Limit = Limit()
    filter: Mapping[str, Values] = {}
    cache_dir: str | None = None

    def load(self, request: DataRequest) -> Splits:
        """Download or reuse the cache, and split; raise DataError if it cannot be had."""
        from burnish.data.sources.load_hub import load_hub  # keeps checking a configuration light

        return load_hub(self, request)
