"""Names a folder of encoded features to train from, and the files in it."""

from burnish.spec.component import Component
from burnish.spec.protocols import DataRequest
from burnish.spec.values import Splits

FORMAT = "burnish prepared data 1"
ROWS, FEATURES = "rows", "features"
EXPERIMENT = "experiment.yaml"
"""The experiment that the features were written for."""


class PreparedFolder(Component):
    """Features that `burnish prepare` wrote earlier; nothing is tokenised again."""

    shorthand = "dir"

    dir: str

    def load(self, request: DataRequest) -> Splits:
        """Map the rows of every split; raise DataError if any file is not as it was written."""
        from burnish.run.preparation.read_prepared import load_prepared  # keeps checking a configuration light

        return load_prepared(self.dir, request)


def shard_name(kind: str, split: str, number: int) -> str:
    """Name a shard within the folder."""
    return f"{kind}/{split}-{number:05d}.arrow"
