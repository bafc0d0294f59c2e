"""What training is given of the data, be it that of one task or of several."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from burnish.spec.protocols import Assets
from burnish.spec.values import Array, Batch, Profile, RandomKey, Rows

if TYPE_CHECKING:
    import pyarrow as pa

    from burnish.run.preparation.prepare import PreparedTask


class PreparedData(Protocol):
    """Data that is ready to train on: that of one task, or of several together."""

    @property
    def rows(self) -> Mapping[str, Rows]:
        """The rows of each split."""
        ...

    @property
    def features(self) -> "Mapping[str, pa.Table]":
        """The features of each split, or at least the `length` of each."""
        ...

    @property
    def profile(self) -> Profile:
        """What the training rows looked like."""
        ...

    @property
    def assets(self) -> Assets:
        """What the model brings besides weights."""
        ...

    @property
    def facts(self) -> Mapping[str, object]:
        """Numbers worth showing once."""
        ...

    @property
    def digests(self) -> Mapping[str, str]:
        """The digest of each file that was read."""
        ...

    @property
    def parts(self) -> "Mapping[str, PreparedTask]":
        """The data of each task by name."""
        ...

    def collate(self, split: str) -> "Callable[[Array, RandomKey], Batch]":
        """Give what builds batches of a split."""
        ...
