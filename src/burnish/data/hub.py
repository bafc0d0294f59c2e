"""Rows by name: a data set of the hub, a task of GLUE, or a source for each of several tasks."""

import os
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, SkipValidation

from burnish.data.options import FURTHER, AuditLevel, Filter, Limit, SplitPlan
from burnish.spec.component import Component, Slot
from burnish.spec.protocols import DataRequest, DataSource
from burnish.spec.values import Splits

GlueSet = Literal["sst2", "mrpc", "cola", "rte", "stsb", "qnli", "wnli", "mnli", "qqp"]


class Hub(DataSource):
    """A data set from the Hugging Face hub (or a local copy), by name."""

    extras: ClassVar[tuple[str, ...]] = ("hub",)
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
    filter: Filter = Field(default_factory=dict)
    cache_dir: str | None = None
    audit: AuditLevel = "warn"
    """What to do about held-out rows that occur in train, equal inputs with other labels, and leaks of the target."""

    def load(self, request: DataRequest) -> Splits:
        from burnish.data.sources.load_hub import load_hub  # keeps checking a configuration light

        return load_hub(self, request)

    def digests(self, request: DataRequest) -> Mapping[str, str]:
        """Read a folder of this machine; what lies on the hub is not fetched again."""
        return self.load(request).digests if os.path.isdir(self.name) else {}


class Glue(DataSource):
    """One GLUE task with the hub's column names and the published labels; GLUE's `dev` files are validation."""

    extras: ClassVar[tuple[str, ...]] = ("hub",)
    shorthand = "set"

    set: GlueSet
    dir: str | None = None
    """A folder with train.tsv and dev.tsv, plain or gzip; without it, the set comes from the hub."""
    limit: Limit = Limit()
    bad_rows: Literal["error", "skip"] = "error"
    max_bad_share: Annotated[float, Field(ge=0, le=1)] = 0.01
    """With `bad_rows: skip`, refuse if more than this share of a split is bad."""
    audit: AuditLevel = "warn"
    """What to do about held-out rows that occur in train, equal inputs with other labels, and leaks of the target."""

    def load(self, request: DataRequest) -> Splits:
        """Read train and dev. Test has no published labels, so there is none."""
        from burnish.data.sources.load_glue import load_glue  # keeps checking a configuration light

        return load_glue(self, request)

    def digests(self, request: DataRequest) -> Mapping[str, str]:
        from burnish.data.sources.load_glue import published_files  # keeps checking a configuration light

        return published_files(self).digests(request) if self.dir is not None else {}


class Several(Component):
    """A separate data source for each task of `task: multi`."""

    sets: Annotated[Mapping[str, SkipValidation[DataSource]], Slot("data", default="files")]
    """By the names of the tasks."""
