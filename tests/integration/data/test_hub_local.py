"""A hub data set is read through the `datasets` package, from a folder laid out like one."""

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from burnish.data.hub import Glue, Hub
from burnish.data.sources import load_hub as module
from burnish.errors import DataError, MissingExtra
from burnish.tasks.question_answering.columns import read_answers
from tests.data_request import Asked

pytest.importorskip("datasets", reason="the extra `hub` is not installed")

LABELLED = Asked(stratify="label", columns=("text", "label"))
CARD = """---
dataset_info:
  features:
  - name: text
    dtype: string
  - name: label
    dtype:
      class_label:
        names:
          '0': neg
          '1': pos
  - name: tags
    sequence:
      class_label:
        names:
          '0': old
          '1': new
---
"""


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    folder = tmp_path / "shelf"
    (folder / "data").mkdir(parents=True)
    (folder / "README.md").write_text(CARD)
    for split, count, label in (("train", 40, None), ("test", 6, -1)):
        labels = [row % 2 if label is None else label for row in range(count)]
        table = pa.table(
            {
                "text": [f"{split} {row}" for row in range(count)],
                "label": labels,
                "tags": [[0, 1][: row % 3] for row in range(count)],
            }
        )
        pa.parquet.write_table(table, folder / "data" / f"{split}-00000-of-00001.parquet")
    return folder


def hub(shelf: Path, **options: object) -> Hub:
    return Hub(name=str(shelf), cache_dir=str(shelf.parent / "cache"), **options)


def test_class_numbers_become_names_and_unlabelled_test_is_left_out(shelf: Path) -> None:
    splits = hub(shelf).load(LABELLED)
    assert (len(splits.train), len(splits.validation), splits.test) == (36, 4, None)
    assert set(splits.train.table["label"].to_pylist()) == {"neg", "pos"}
    assert splits.validation.table["label"].to_pylist().count("pos") == 2
    assert splits.train.table["tags"].to_pylist()[:3] == [[], ["old"], ["old", "new"]]
    assert splits.facts["test"] == "left out: its labels are not published"
    assert splits.train.places.describe(0) == f"{shelf} [train] row 1"


def test_options_shape_the_rows_and_the_fingerprint(shelf: Path) -> None:
    asked = Asked(columns=("text",))
    plain, few = hub(shelf).load(asked), hub(shelf, limit={"train": 5}, filter={"label": "pos"}).load(LABELLED)
    assert plain.test is not None
    assert (len(few.train), set(few.train.table["label"].to_pylist())) == (5, {"pos"})
    assert plain.fingerprint == hub(shelf).load(asked).fingerprint != few.fingerprint


def test_a_split_serves_one_purpose(shelf: Path) -> None:
    splits = hub(shelf, validation="test").load(Asked(columns=("text",)))
    assert (len(splits.validation), splits.test) == (6, None)
    with pytest.raises(DataError, match="must give each of train, validation from a different split"):
        hub(shelf, validation="train").load(Asked())


def test_an_unknown_split_is_refused_with_those_there(shelf: Path) -> None:
    with pytest.raises(DataError, match="has no split `dev`; it has train, test"):
        hub(shelf, validation="dev").load(Asked())


def test_a_data_set_that_cannot_be_had_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"data\.name: nobody/nothing could not be read: "):
        Hub(name="nobody/nothing", cache_dir=str(tmp_path)).load(Asked())


def test_without_the_package_the_extra_is_named(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtra, match=r"burnish\[hub\]"):
        hub(shelf).load(Asked())


def test_glue_from_the_hub_has_the_published_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    features = datasets.Features(
        {
            "sentence": datasets.Value("string"),
            "label": datasets.ClassLabel(names=["negative", "positive"]),
            "idx": datasets.Value("int32"),
        }
    )
    rows = {"sentence": ["x", "y"], "label": [1, 0], "idx": [0, 1]}
    copy = {
        split: datasets.Dataset.from_dict(rows, features=features, split=split)
        for split in ("train", "validation", "test")
    }
    monkeypatch.setattr(module, "_fetch", lambda options: copy if options.config == "sst2" else {})
    splits = Glue(set="sst2").load(Asked(stratify="label", columns=("sentence", "label")))
    assert splits.train.table.to_pylist() == [{"sentence": "x", "label": "1"}, {"sentence": "y", "label": "0"}]
    assert splits.test is None


QUESTIONS = """---
dataset_info:
  features:
  - name: id
    dtype: string
  - name: question
    dtype: string
  - name: context
    dtype: string
  - name: answers
    sequence:
    - name: text
      dtype: string
    - name: answer_start
      dtype: int32
---
"""


def test_questions_of_the_hub_have_their_answers(tmp_path: Path) -> None:
    folder = tmp_path / "questions"
    (folder / "data").mkdir(parents=True)
    (folder / "README.md").write_text(QUESTIONS)
    answers = [{"text": ["Ann", "Bob"], "answer_start": [0, 8]}, {"text": [], "answer_start": []}] * 10
    columns = {name: [f"{name} {row}" for row in range(20)] for name in ("id", "question", "context")}
    for split in ("train", "validation"):
        table = pa.table({**columns, "answers": answers})
        pa.parquet.write_table(table, folder / "data" / f"{split}-00000-of-00001.parquet")
    rows = hub(folder).load(Asked(columns=("question", "context", "answers"))).train
    found = read_answers(rows.table["answers"], name="answers")
    assert found.counts.tolist() == [2, 0] * 10
    assert (found.texts[:2], found.starts[:2].tolist()) == (["Ann", "Bob"], [0, 8])


LANGUAGES = """---
configs:
- config_name: de
  data_files: [{split: test, path: de/test*}]
- config_name: en
  data_files: [{split: train, path: en/train*}, {split: test, path: en/test*}]
---
"""


@pytest.fixture
def languages(tmp_path: Path) -> Path:
    folder = tmp_path / "languages"
    for name, count in (("en/train", 40), ("en/test", 6), ("de/test", 5)):
        path = folder / f"{name}-00000-of-00001.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pa.parquet.write_table(pa.table({"text": [name] * count, "label": ["a", "b", *"a" * (count - 2)]}), path)
    (folder / "README.md").write_text(LANGUAGES)
    return folder


def test_a_further_set_may_lie_in_another_configuration(languages: Path) -> None:
    splits = hub(languages, config="en", also={"test_de": "de/test"}).load(LABELLED)
    assert (len(splits.train), len(splits.test or ())) == (36, 6)
    assert splits.others["test_de"].table["text"].to_pylist() == ["de/test"] * 5


def test_a_split_that_another_configuration_lacks_is_told(languages: Path) -> None:
    with pytest.raises(DataError, match=r"data\.also\.dev_de: .* \(de\) has no split `dev`; it has test"):
        hub(languages, config="en", also={"dev_de": "de/dev"}).load(LABELLED)
