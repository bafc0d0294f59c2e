"""Names a folder of encoded features to train from, and the files in it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from burnish.spec.protocols import DataRequest, DataSource, Encoder
from burnish.spec.values import Rows, Splits

if TYPE_CHECKING:
    from burnish.data.cache.features import Stored

FORMAT = "burnish prepared data 1"
ROWS, FEATURES = "rows", "features"
EXPERIMENT = "experiment.yaml"
"""The experiment that the features were written for."""


class PreparedFolder(DataSource):
    """Features that `burnish prepare` wrote earlier; nothing is tokenised again."""

    shorthand = "dir"

    dir: str

    def load(self, request: DataRequest) -> Splits:
        from burnish.run.preparation.read_prepared import load_prepared  # keeps checking a configuration light

        return load_prepared(self.dir, request)

    def digests(self, request: DataRequest) -> Mapping[str, str]:
        from burnish.run.preparation.read_prepared import listed_digests

        return listed_digests(self.dir)

    def refuse_encoder(self, encoder: Encoder) -> None:
        from burnish.run.preparation.read_prepared import refuse_misfit

        refuse_misfit(self.dir, encoder)

    def stored_features(self, split: str, encoder: Encoder, rows: Rows) -> "Stored":
        from burnish.run.preparation.read_prepared import read_features

        return read_features(self.dir, split, encoder=encoder, rows=rows)


def shard_name(kind: str, split: str, number: int) -> str:
    """Name a shard within the folder."""
    return f"{kind}/{split}-{number:05d}.arrow"
