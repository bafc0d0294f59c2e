"""Files become splits: as given, by column, carved, grouped, filtered, limited; and always the same ones."""

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from burnish.data.files import Files
from burnish.data.inspection.faults import BrokenRows
from burnish.errors import DataError
from burnish.spec.protocols import DataSource
from burnish.spec.values import Rows, Splits
from tests.data_request import Asked

ASKED = Asked(stratify="label", columns=("text", "label"))


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    path = tmp_path / "reviews.csv"
    path.write_text("text,label,user,part\n" + "".join(_row(row) for row in range(100)))
    return path


def _row(row: int) -> str:
    part = "Train" if row < 70 else "dev" if row < 85 else "test"
    return f"text {row},{'pos' if row % 4 == 0 else 'neg'},u{row // 5},{part}\n"


def column(rows: Rows | None, name: str) -> list[str]:
    assert rows is not None
    return [str(value) for value in rows.table[name].to_pylist()]


def parts(splits: Splits) -> list[Rows]:
    return [rows for rows in (splits.train, splits.validation, splits.test) if rows is not None]


def test_files_is_a_data_source() -> None:
    assert isinstance(Files(train="a.csv"), DataSource)


def test_a_tenth_of_train_becomes_validation_when_none_is_given(reviews: Path) -> None:
    splits = Files(train=str(reviews)).load(ASKED)
    assert (len(splits.train), len(splits.validation), splits.test) == (90, 10, None)
    assert column(splits.validation, "label").count("pos") in (2, 3)
    assert splits.facts["validation"] == "10% of train, stratified by label, seed 0"
    assert splits.facts["rows"] == {"train": 90, "validation": 10}


def test_every_row_is_in_one_split_with_its_place(reviews: Path) -> None:
    splits = Files(train=str(reviews), split={"validation": "20%", "test": 15}).load(ASKED)
    assert [len(rows) for rows in parts(splits)] == [65, 20, 15]
    texts = [text for rows in parts(splits) for text in column(rows, "text")]
    assert sorted(texts) == sorted(f"text {row}" for row in range(100))
    for rows in parts(splits):
        for at, text in enumerate(column(rows, "text")):
            assert rows.places.describe(at) == f"{reviews}:{int(text.split()[1]) + 2}"


def test_given_files_are_taken_as_they_are(reviews: Path, tmp_path: Path) -> None:
    for name in ("dev", "test"):
        (tmp_path / f"{name}.csv").write_text("text,label\nx,pos\n")
    splits = Files(dir=str(tmp_path), train="reviews.csv", validation="dev.csv", test="test.csv").load(ASKED)
    assert [len(rows) for rows in parts(splits)] == [100, 1, 1]
    assert splits.facts["validation"] == "as given"


def test_a_column_can_name_the_splits(reviews: Path) -> None:
    splits = Files(train=str(reviews), split={"by": "part"}).load(ASKED)
    assert [len(rows) for rows in parts(splits)] == [70, 15, 15]
    assert splits.facts["validation"] == "by the column part"


def test_a_column_that_names_something_else_is_refused(reviews: Path) -> None:
    with pytest.raises(
        DataError,
        match=r"the column `label` holds 'pos', 'neg', which is not a split; use "
        r"train, valid",
    ):
        Files(train=str(reviews), split={"by": "label"}).load(ASKED)


def test_no_group_crosses(reviews: Path) -> None:
    splits = Files(train=str(reviews), split={"validation": "20%", "test": "10%", "group": "user"}).load(ASKED)
    users = [set(column(rows, "user")) for rows in parts(splits)]
    assert len(users[0] | users[1] | users[2]) == sum(map(len, users))
    assert [len(rows) for rows in parts(splits)] == [70, 20, 10]


@pytest.mark.parametrize("blank", ["", "  "])
def test_rows_without_a_group_are_not_one_group(tmp_path: Path, blank: str) -> None:
    path = tmp_path / "rows.csv"
    users = [blank if row % 2 else f"u{row % 10}" for row in range(200)]
    path.write_text("text,label,user\n" + "".join(f"t{row},a,{user}\n" for row, user in enumerate(users)))
    for test in ({}, {"test": str(tmp_path / "more.csv")}):
        (tmp_path / "more.csv").write_text(f"text,label,user\nx,a,{blank}\ny,b,v\n")
        splits = Files(train=str(path), split={"validation": "20%", "group": "user"}, **test).load(ASKED)
        assert column(splits.validation, "user").count(blank) in range(10, 31)
        assert not set(column(splits.train, "user")) & set(column(splits.validation, "user")) - {blank}


def test_a_group_of_two_columns_is_their_pair(reviews: Path) -> None:
    splits = Files(train=str(reviews), split={"group": ["user", "part"]}).load(ASKED)
    pairs = [set(zip(column(rows, "user"), column(rows, "part"), strict=True)) for rows in parts(splits)]
    assert not pairs[0] & pairs[1]


def test_a_group_that_crosses_given_files_is_refused(reviews: Path, tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text("text,label,user\nx,pos,u3\ny,pos,other\n")
    with pytest.raises(DataError, match="1 groups of user are in both train and test, like u3"):
        Files(train=str(reviews), test=f"{tmp_path}/test.csv", split={"group": "user"}).load(ASKED)


def test_too_few_groups_are_refused(reviews: Path) -> None:
    with pytest.raises(DataError, match="part holds 1 group, too few for 2 splits"):
        Files(train=str(reviews), split={"group": "part"}, filter={"part": "Train"}).load(ASKED)


def test_limits_take_a_sample_in_file_order(reviews: Path) -> None:
    whole = Files(train=str(reviews)).load(ASKED)
    few = Files(train=str(reviews), limit={"train": 20, "validation": 4}).load(ASKED)
    assert (len(few.train), len(few.validation)) == (20, 4)
    numbers = [int(text.split()[1]) for text in column(few.train, "text")]
    assert numbers == sorted(numbers)
    assert set(column(few.validation, "text")) < set(column(whole.validation, "text"))
    assert numbers[-1] > 40


def test_a_filter_keeps_the_wanted_rows(reviews: Path) -> None:
    splits = Files(train=str(reviews), filter={"part": ["dev", "test"]}).load(ASKED)
    assert sum(map(len, parts(splits))) == 30


@pytest.mark.parametrize("bad", ["fare >", "open('x')", "fare.x > 1"])
def test_what_is_no_condition_is_refused_with_the_config(bad: str) -> None:
    with pytest.raises(ValidationError):
        Files(train=("x.csv",), filter=bad)


def test_a_filter_that_leaves_nothing_is_refused(reviews: Path) -> None:
    with pytest.raises(DataError, match=r"data\.filter: none of the 100 rows of train holds nowhere in part"):
        Files(train=str(reviews), filter={"part": "nowhere"}).load(ASKED)


def test_the_seed_decides(reviews: Path) -> None:
    texts = [column(Files(train=str(reviews)).load(Asked(seed=seed)).validation, "text") for seed in (0, 0, 1)]
    assert texts[0] == texts[1] != texts[2]


def test_more_than_there_is_cannot_be_carved(reviews: Path) -> None:
    with pytest.raises(DataError, match="train has 100 rows, too few to take 60 for test and 50% for validation"):
        Files(train=str(reviews), split={"validation": "50%", "test": 60}).load(ASKED)


def test_a_label_with_a_value_of_its_own_for_every_row_is_not_stratified(reviews: Path) -> None:
    splits = Files(train=str(reviews)).load(Asked(stratify="text"))
    assert splits.facts["validation"] == "10% of train, seed 0"


def test_a_missing_column_is_refused_with_the_nearest(reviews: Path) -> None:
    with pytest.raises(DataError, match=r"no column `labels`\. Did you mean `label`\? The columns are text, label"):
        Files(train=str(reviews)).load(Asked(columns=("text", "labels")))


def test_every_missing_file_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        Files(dir=str(tmp_path), train="a.csv", test="b.csv").load(ASKED)
    assert str(caught.value).count("there is no file") == 2


def test_one_file_cannot_be_in_two_splits(reviews: Path) -> None:
    with pytest.raises(DataError, match="is read for train too; a row may be in one split only"):
        Files(train=str(reviews), test=f"{reviews.parent}/*.csv").load(ASKED)


def test_one_file_in_two_splits_is_found_by_a_check_already(reviews: Path) -> None:
    found = [*Files(train=str(reviews), test=str(reviews)).absent(["text"], place="data", task="task")]
    assert found == [("data.test", f"data.test: {reviews} is read for train too; a row may be in one split only")]


@pytest.mark.parametrize("how", ["spelling", "symlink", "hard link", "folder"])
def test_one_file_under_two_names_cannot_be_in_two_splits(reviews: Path, how: str) -> None:
    other = reviews.parent / "other.csv"
    if how == "spelling":
        other = Path(f"{reviews.parent}/../{reviews.parent.name}/{reviews.name}")
    elif how == "symlink":
        other.symlink_to(reviews)
    elif how == "hard link":
        other.hardlink_to(reviews)
    else:
        other = reviews.parent
    for train, test in ((reviews, other), (other, reviews)):
        with pytest.raises(DataError, match=r"too, as .*; a row may be in one split only"):
            Files(train=str(train), test=str(test)).load(ASKED)


def test_one_file_under_two_names_in_a_split_is_read_once(reviews: Path) -> None:
    (reviews.parent / "link.csv").symlink_to(reviews)
    assert sum(map(len, parts(Files(train=f"{reviews.parent}/*.csv").load(ASKED)))) == 100


def test_a_file_named_twice_is_read_once(reviews: Path) -> None:
    assert sum(map(len, parts(Files(train=(str(reviews), str(reviews))).load(ASKED)))) == 100


def test_broken_rows_of_all_splits_are_told_together(reviews: Path, tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text("text,label\nx\n")
    reviews.write_text(reviews.read_text() + "only,three,fields\n")
    with pytest.raises(DataError) as caught:
        Files(train=str(reviews), test=f"{tmp_path}/test.csv").load(ASKED)
    assert f"{reviews}:102: has 3 fields, but 4 are expected here" in str(caught.value)
    assert "test.csv:2: has 1 field, but 2 are expected here" in str(caught.value)


def test_beside_broken_rows_the_rest_can_be_asked_for(reviews: Path) -> None:
    reviews.write_text(reviews.read_text() + "only,three,fields\n")
    with pytest.raises(BrokenRows) as caught:
        Files(train=str(reviews)).load(ASKED)
    assert [str(row).partition(":")[2] for row in caught.value.broken["train"]] == [
        "102: has 3 fields, but 4 are expected here"
    ]
    assert sum(map(len, parts(caught.value.rest()))) == 100


def test_skipped_rows_are_counted_and_written_once(reviews: Path, tmp_path: Path) -> None:
    reviews.write_text(reviews.read_text() + "only,three,fields\n")
    asked = Asked(stratify="label", quarantine=tmp_path / "bad_rows.jsonl")
    for _ in range(2):
        splits = Files(train=str(reviews), bad_rows="skip").load(asked)
    assert splits.facts["skipped"] == {"train": 1}
    written = [json.loads(line) for line in (tmp_path / "bad_rows.jsonl").read_text().splitlines()]
    assert [(row["line"], row["text"]) for row in written] == [(102, "only,three,fields")]


def test_the_fingerprint_sees_bytes_and_options_and_not_the_folder(reviews: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere" / "r.csv"
    moved.parent.mkdir()
    moved.write_bytes(reviews.read_bytes())
    prints = [
        Files(train=str(reviews)).load(ASKED).fingerprint,
        Files(train=str(moved)).load(ASKED).fingerprint,
        Files(train=str(moved), limit={"train": 5}).load(ASKED).fingerprint,
        Files(train=str(moved)).load(Asked(seed=1, stratify="label")).fingerprint,
    ]
    moved.write_text(moved.read_text().replace("text 3,", "text three,"))
    prints.append(Files(train=str(moved)).load(ASKED).fingerprint)
    assert prints[0] == prints[1]
    assert len(set(prints)) == 4


def test_a_small_limit_keeps_every_class(tmp_path: Path) -> None:
    path = tmp_path / "many.csv"
    path.write_text("text,label\n" + "".join(f"text {row},c{row % 20}\n" for row in range(400)))
    few, more = (Files(train=str(path), limit={"train": size}).load(Asked(stratify="label")).train for size in (20, 60))
    assert set(column(few, "label")) == {f"c{number}" for number in range(20)}
    assert set(column(few, "text")) < set(column(more, "text"))


def test_a_single_row_cannot_be_divided(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("text,label\nx,pos\n")
    with pytest.raises(DataError, match="train has 1 row, too few to take 10% for validation"):
        Files(train=str(path)).load(ASKED)


def test_many_classes_of_few_rows_stay_in_train(tmp_path: Path) -> None:
    path = tmp_path / "intents.csv"
    labels = [f"intent {row % 60 if row < 80 else row - 20}" for row in range(100)]
    path.write_text("text,label\n" + "".join(f"text {row},{label}\n" for row, label in enumerate(labels)))
    splits = Files(train=str(path)).load(Asked(stratify="label"))
    assert set(column(splits.validation, "label")) <= set(column(splits.train, "label"))


def test_further_sets_are_read_by_name_and_read_whole(reviews: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text(reviews.read_text())
    options = Files(train=(str(reviews),), also={"validation_de": (str(other),)}, limit={"validation": 3})
    splits = options.load(Asked(stratify="label", columns=("text",)))
    assert len(splits.validation) == 3
    assert {name: len(rows) for name, rows in splits.others.items()} == {"validation_de": 100}
    assert splits.others["validation_de"].places.describe(0).startswith(str(other))


@pytest.mark.parametrize("name", ["test", "a b", "../up"])
def test_a_further_set_must_have_a_name_of_its_own(name: str) -> None:
    with pytest.raises(ValueError, match="names an additional set"):
        Files(train=("a.csv",), also={name: ("b.csv",)})


def test_the_fingerprint_tells_formats_apart(tmp_path: Path) -> None:
    for suffix in ("csv", "tsv"):
        (tmp_path / f"a.{suffix}").write_text("text,label\tx\n" + "a,b\tc\n" * 20)
    loaded = [Files(train=str(tmp_path / f"a.{suffix}")).load(Asked()) for suffix in ("csv", "tsv")]
    assert loaded[0].train.table.column_names != loaded[1].train.table.column_names
    assert loaded[0].fingerprint != loaded[1].fingerprint
