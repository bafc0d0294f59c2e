"""The values of an Example as those of a row: one of each feature, as the other formats would give them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from burnish.data.codecs.convert import Unfit
from burnish.data.codecs.example import Feature, parse_example
from burnish.data.codecs.wire import WireError


def example_row(data: bytes, names: Sequence[str]) -> Mapping[str, Any]:
    """Give the value of each feature that is a column; a feature without values is a missing value."""
    try:
        features = parse_example(data, wanted=names)
    except WireError as error:
        raise Unfit(f"is not a tf.train.Example: {error}") from error
    several = [(name, len(each.values)) for name, each in features.items() if len(each.values) > 1]
    if several:
        raise Unfit("; ".join(f"`{name}` holds {count} values where one is expected" for name, count in several))
    return {name: _value(each) for name, each in features.items() if each.values}


def _value(feature: Feature) -> Any:
    if feature.kind != "float":
        return feature.values[0]
    # The writer had 12.3, and 32 bits hold 12.300000190734863: take the shortest number that these bits stand for, so
    # that an Example and a CSV line of the same row give the same prediction.
    return float(str(np.float32(feature.values[0])))
