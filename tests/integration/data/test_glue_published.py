"""The real GLUE files are read whole: every published count is met."""

import pytest

from burnish.data.hub import Glue
from burnish.errors import DataError
from tests.data_request import Asked
from tests.shared_data import shared_data

pytestmark = pytest.mark.shared_data

COUNTS = {
    "sst2": ("SST-2", 67_349, 872, {"0": 428, "1": 444}),
    "cola": ("CoLA", 8_551, 1_043, {"0": 322, "1": 721}),
    "mrpc": ("MRPC", 3_668, 408, {"0": 129, "1": 279}),
    "rte": ("RTE", 2_490, 277, {"entailment": 146, "not_entailment": 131}),
    "stsb": ("STS-B", 5_749, 1_500, None),
    "wnli": ("WNLI", 635, 71, {"0": 40, "1": 31}),
}


@pytest.mark.parametrize("name", COUNTS)
def test_rows_and_labels_are_those_published(name: str) -> None:
    folder, num_train, num_dev, labels = COUNTS[name]
    splits = Glue(set=name, dir=str(shared_data("glue", folder))).load(Asked(stratify="label"))
    found = splits.validation.table["label"].to_pylist()
    assert (len(splits.train), len(splits.validation)) == (num_train, num_dev)
    if labels is None:
        assert all(0 <= float(score) <= 5 for score in found)
    else:
        assert {label: found.count(label) for label in sorted(set(found))} == labels


def test_a_set_with_dev_alone_is_refused() -> None:
    with pytest.raises(DataError, match=r"has no train\.tsv"):
        Glue(set="qnli", dir=str(shared_data("glue", "QNLI"))).load(Asked())
