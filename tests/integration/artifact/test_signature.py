"""An artifact says what it takes and what it answers, with the statistics of its training rows."""

import json
from pathlib import Path

import pytest

from burnish.artifact.predictor import Predictor
from burnish.artifact.signature import InputField
from burnish.commands.train import train
from burnish.storage import manifest

pytestmark = pytest.mark.usefixtures("quick_workers")


def trained(root: Path, rows: list[dict[str, object]], config: str) -> Path:
    root.mkdir(exist_ok=True)
    (root / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (root / "config.yaml").write_text(
        f"{config}\ndata: {{train: {root}/rows.jsonl, split: {{validation: 8, test: 8}}}}\n"
        "train: {length: 2 steps, batch: 8}\nruntime: {threads: 1}\n"
    )
    return train(str(root / "config.yaml"), directory=root / "run").directory / "artifact"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows: list[dict[str, object]] = [
        {
            "id_like": f"row {n}",
            "area": 20.5 + 1.25 * n,
            "town": ("Bonn", "Köln")[n % 2] if n % 10 else None,
            "built": f"2001-01-{1 + n % 28:02d}",
            "has_garden": n % 4 == 0,
            "price": 1000.0 * n,
        }
        for n in range(60)
    ]
    config = "task: {type: tabular, target: price, others: infer, columns: {built: {kind: datetime}}}\nmodel: linear"
    return trained(tmp_path_factory.mktemp("table"), rows, config)


def test_a_table_describes_its_columns_in_the_order_of_the_file(table: Path) -> None:
    signature = Predictor.load(table).signature
    fields = {field.name: field for field in signature.inputs}
    assert (signature.task, signature.kind, signature.answer.kind) == ("tabular", "regression", "number")
    assert list(fields) == ["area", "town", "built", "has_garden"]
    assert signature.list_order == ("id_like", "area", "town", "built", "has_garden")
    assert {name: field.kind for name, field in fields.items()} == {
        "area": "number",
        "town": "category",
        "built": "date",
        "has_garden": "boolean",
    }
    lacked = {name for name, field in fields.items() if field.missing_share}
    assert lacked
    assert {name for name, field in fields.items() if not field.is_required} == lacked
    assert signature.text_input is None
    assert fields["town"].values == ("Bonn", "Köln")


def test_a_table_keeps_the_statistics_that_drift_is_measured_against(table: Path) -> None:
    signature = Predictor.load(table).signature
    fields: dict[str, InputField] = {field.name: field for field in signature.inputs}
    area, town = fields["area"], fields["town"]
    assert area.seen is not None
    assert area.seen.lowest >= 20
    assert area.seen.lowest < area.seen.quantiles["0.5"] < area.seen.highest
    assert town.missing_share == pytest.approx(0.1, abs=0.05)
    assert sum(town.value_shares.values()) + (town.missing_share or 0) == pytest.approx(1)
    assert set(fields["has_garden"].value_shares) == {"false", "true"}
    assert str(fields["built"].default).startswith("2001-01-")
    assert signature.answer.seen is not None
    assert signature.training_rows == 44


def test_an_artifact_from_before_describes_itself_without_the_statistics(table: Path) -> None:
    described = Predictor.load(table).signature
    (table / "signature.json").unlink()
    facts = {name: value for name, value in (manifest.read(table) or {}).items() if name != "files"}
    manifest.commit(table, facts)
    computed = Predictor.load(table).signature
    assert computed.inputs[0].missing_share is None
    measured = {"missing_share", "value_shares", "lengths"}
    assert [field.model_dump(exclude=measured) for field in computed.inputs] == [
        field.model_dump(exclude=measured) for field in described.inputs
    ]
    assert computed.answer == described.answer


def test_a_text_may_be_given_as_a_plain_string_and_its_classes_have_shares(tmp_path: Path, tiny_bert: Path) -> None:
    rows = [{"text": "good film" if n % 3 else "dull", "label": "pos" if n % 3 else "neg"} for n in range(46)]
    config = f"task: {{type: text_classification, max_length: 32}}\nmodel: {tiny_bert}"
    signature = Predictor.load(trained(tmp_path, rows, config)).signature
    (text,) = signature.inputs
    assert signature.text_input == "text"
    assert text.is_required
    assert text.lengths is not None
    assert (text.lengths.lowest, text.lengths.highest) == (4, 9)
    assert (signature.max_length, signature.truncation) == (32, "head")
    assert signature.token_lengths is not None
    assert [(each.value, each.name) for each in signature.answer.classes] == [("neg", "neg"), ("pos", "pos")]
    assert sum(each.share or 0 for each in signature.answer.classes) == pytest.approx(1)
    assert signature.answer.fields == ("predicted", "confidence", "probabilities")
