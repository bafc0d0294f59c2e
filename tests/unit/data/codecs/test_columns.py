"""A task tells its columns, or they are texts."""

from types import SimpleNamespace

from burnish.data.codecs.columns import ColumnSpec, describe_columns
from burnish.data.truncation import Head
from burnish.spec.values import Profile
from burnish.tasks.text_classification import TextClassification


def test_a_task_that_describes_its_columns_is_believed() -> None:
    spec = ColumnSpec("fare", "number", default=0.0)
    task = SimpleNamespace(input_specs=lambda profile: [spec], input_columns=("other",))
    assert describe_columns(task, Profile("regression")) == (spec,)


def test_the_columns_of_other_tasks_are_texts_that_must_be_given() -> None:
    task = TextClassification(text="a", pair="b", truncation=Head())
    assert describe_columns(task, Profile("binary")) == (ColumnSpec("a"), ColumnSpec("b"))
    assert all(spec.must_be_given for spec in describe_columns(task, Profile("binary")))
