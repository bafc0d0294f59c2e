"""Rows for a last training, once every choice is made: those of validation are learned from too."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Annotated

from pydantic import SkipValidation

from burnish.spec.component import Slot
from burnish.spec.protocols import DataRequest, DataSource
from burnish.spec.values import Splits


class Refit(DataSource):
    """Another source whose validation rows are trained on as well; scores on validation are no longer held-out."""

    of: Annotated[SkipValidation[DataSource], Slot("data", default="files")]

    @property
    def audit(self) -> str:
        """Validation rows are in train on purpose."""
        return "off"

    def load(self, request: DataRequest) -> Splits:
        from burnish.data.rows import join

        splits = self.of.load(request)
        facts = {**splits.facts, "train_rows": len(splits.train) + len(splits.validation), "refit": True}
        digest = sha256(f"refit {splits.fingerprint}".encode()).hexdigest()
        digests = splits.digests or {"refit": digest}  # not under the name of what the trials were trained on
        whole = join([splits.train, splits.validation])
        return replace(splits, train=whole, facts=facts, fingerprint=digest, digests=digests)

    def digests(self, request: DataRequest) -> Mapping[str, str]:
        return self.of.digests(request)

    def unreadable(self) -> Iterable[tuple[str, str]]:
        yield from ((f"of.{option}", sentence) for option, sentence in self.of.unreadable())

    def absent(self, columns: Sequence[str], *, place: str, task: str) -> Iterable[tuple[str, str]]:
        yield from self.of.absent(columns, place=f"{place}.of", task=task)
