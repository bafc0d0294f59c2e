"""Portions, names and values are read the ways people write them."""

import pytest
from pydantic import TypeAdapter, ValidationError

from burnish.data.files import Files
from burnish.data.options import Limit, Portion, SplitPlan


@pytest.mark.parametrize(
    ("written", "of_200", "shown"),
    [
        ("10%", 20, "10%"),
        ("0.1", 20, "10%"),
        (0.1, 20, "10%"),
        ("12.5%", 25, "12.5%"),
        (50, 50, "50"),
        ("50", 50, "50"),
    ],
)
def test_a_portion_is_a_share_or_a_number(written: str | float, of_200: int, shown: str) -> None:
    portion = Portion.parse(written)
    assert (portion.of(200), str(portion)) == (of_200, shown)
    assert Portion.parse(str(portion)) == portion


@pytest.mark.parametrize("written", ["", "ten", "0", "0%", "100%", "-1", "1.5", "150%", "nan", True, None, [1]])
def test_anything_else_is_refused_with_a_sentence(written: object) -> None:
    with pytest.raises(ValidationError, match="must be a share like"):
        TypeAdapter(Portion).validate_python(written)


def test_a_tiny_share_is_still_a_row() -> None:
    assert Portion(0.001).of(10) == 1


def test_a_plan_is_written_back_as_it_was_read() -> None:
    plan = SplitPlan(validation="10%", test=5, group="user")
    assert plan.model_dump(mode="json") == {"validation": "10%", "test": "5", "by": None, "group": ["user"]}
    assert SplitPlan.model_validate(plan.model_dump(mode="json")) == plan


def test_one_name_is_a_list_of_one() -> None:
    files = Files(train="a.csv", filter={"n": 5, "ok": True, "t": ["x", "y"]}, limit={"train": "7"}, header="false")
    assert files.train == ("a.csv",)
    assert files.filter == {"n": ("5",), "ok": ("true",), "t": ("x", "y")}
    assert files.limit == Limit(train=7)
    assert files.header is False


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"train": []}, "must name at least one file"),
        ({"train": "a", "validation": "b", "split": {"validation": "10%"}}, "takes `validation` .* not both"),
        ({"train": "a", "test": "b", "split": {"by": "s"}}, "takes `test` .* not both"),
        ({"train": "a", "delimiter": ";;"}, "must be one ASCII character"),
        ({"train": "a", "layout": "id_label_alpha_text", "columns": ["x"]}, "`layout` means a TSV file"),
        ({"train": "a", "bad_rows": "ignore"}, "'error' or 'skip'"),
        ({"train": "a", "max_bad_share": 2}, "less than or equal to 1"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Files.model_validate(options)


def test_the_schema_can_be_written() -> None:
    assert "split" in Files.model_json_schema()["properties"]
