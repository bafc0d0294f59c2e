"""The GLUE benchmark's sets: from the published TSV files, or from the hub."""

from typing import Annotated, Literal

from pydantic import Field

from burnish.data.options import Limit
from burnish.spec.component import Component
from burnish.spec.protocols import DataRequest
from burnish.spec.values import Splits

GlueSet = Literal["sst2", "mrpc", "cola", "rte", "stsb", "qnli", "wnli", "mnli", "qqp"]


class Glue(Component):
    """One GLUE task with the hub's column names and the published labels; GLUE's `dev` files are validation."""

    shorthand = "set"

    set: GlueSet
    dir: str | None = None
    """A folder with train.tsv and dev.tsv, plain or gzip; without it, the set comes from the hub."""
    limit: Limit = Limit()
    bad_rows: Literal["error", "skip"] = "error"
    max_bad_share: Annotated[float, Field(ge=0, le=1)] = 0.01
    """With `bad_rows: skip`, refuse if more than this share of a split is bad."""

    def load(self, request: DataRequest) -> Splits:
        """Read train and dev. Test has no published labels, so there is none."""
        from burnish.data.sources.load_glue import load_glue  # keeps checking a configuration light

        return load_glue(self, request)
