"""GLUE's published files get the hub's column names and keep their labels."""

import gzip
from pathlib import Path

import pytest

from burnish.data.hub import Glue
from burnish.errors import DataError
from burnish.spec.values import Splits
from tests.data_request import Asked

PUBLISHED = {
    "sst2": ("sentence\tlabel", 'a "good film\t1'),
    "cola": ("", "gj04\t1\t*\tThey drank."),
    "mrpc": ("Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", '1\t10\t11\t" He said\tHe said .'),
    "rte": ("index\tsentence1\tsentence2\tlabel", "0\tA.\tB.\tentailment"),
    "wnli": ("index\tsentence1\tsentence2\tlabel", "0\tA.\tB.\t1"),
    "stsb": (
        "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore",
        "0\tg\tf\t2012\t1\tnone\tnone\tA.\tB.\t4.750",
    ),
    "qnli": ("index\tquestion\tsentence\tlabel", "0\tWho?\tHe.\tnot_entailment"),
    "mnli": ("index\tpairID\tsentence1\tsentence2\tlabel1\tgold_label", "0\t1n\tA.\tB.\tneutral\tneutral"),
    "qqp": ("id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate", "0\t1\t2\tWhy?\tWhy not?\t0"),
}
COLUMNS = {
    "sst2": ["sentence", "label"],
    "cola": ["sentence", "label"],
    "qnli": ["question", "sentence", "label"],
    "mnli": ["premise", "hypothesis", "label"],
    "qqp": ["question1", "question2", "label"],
}


def publish(folder: Path, name: str, *, stems: tuple[str, ...] = ("train", "dev")) -> str:
    header, row = PUBLISHED[name]
    for stem in stems:
        (folder / f"{stem}.tsv").write_text("\n".join([header, row] if header else [row]) + "\n")
    return str(folder)


def load(name: str, folder: str, **options: object) -> Splits:
    return Glue(set=name, dir=folder, **options).load(Asked(stratify="label", columns=("label",)))


@pytest.mark.parametrize("name", PUBLISHED)
def test_each_set_has_the_hubs_columns(tmp_path: Path, name: str) -> None:
    stems = ("train", "dev_matched" if name == "mnli" else "dev")
    splits = load(name, publish(tmp_path, name, stems=stems))
    assert splits.train.table.column_names == COLUMNS.get(name, ["sentence1", "sentence2", "label"])
    assert (len(splits.train), len(splits.validation), splits.test) == (1, 1, None)


def test_quotes_are_plain_text_and_labels_as_published(tmp_path: Path) -> None:
    assert load("sst2", publish(tmp_path, "sst2")).train.table.to_pylist() == [
        {"sentence": 'a "good film', "label": "1"}
    ]


def test_gzip_is_read_too(tmp_path: Path) -> None:
    publish(tmp_path, "rte")
    for path in list(tmp_path.glob("*.tsv")):
        path.with_suffix(".tsv.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert load("rte", str(tmp_path)).validation.places.describe(0).endswith("dev.tsv.gz:2")


def test_a_folder_without_dev_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"has no dev\.tsv .* published as train\.tsv and dev\.tsv, and both are needed"
    ):
        load("sst2", publish(tmp_path, "sst2", stems=("train",)))


def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such folder"):
        load("sst2", f"{tmp_path}/nowhere")


def test_the_files_of_another_set_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no column `#1 String`"):
        load("mrpc", publish(tmp_path, "sst2"))


def test_a_column_the_task_asks_for_is_demanded(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no column `text`"):
        Glue(set="sst2", dir=publish(tmp_path, "sst2")).load(Asked(columns=("text",)))


def test_broken_rows_follow_the_policy(tmp_path: Path) -> None:
    folder = publish(tmp_path, "qqp")
    (tmp_path / "train.tsv").write_text((tmp_path / "train.tsv").read_text() + "1\t2\n")
    with pytest.raises(DataError, match=r"train\.tsv:3: has 2 fields, but 6 are expected here"):
        load("qqp", folder)
    assert len(load("qqp", folder, bad_rows="skip", max_bad_share=0.5).train) == 1


def test_mnli_brings_the_mismatched_pairs_beside_the_matched_ones(tmp_path: Path) -> None:
    splits = load("mnli", publish(tmp_path, "mnli", stems=("train", "dev_matched", "dev_mismatched")))
    assert [*splits.others] == ["validation_mismatched"]
    assert splits.others["validation_mismatched"].table.column_names == ["premise", "hypothesis", "label"]
