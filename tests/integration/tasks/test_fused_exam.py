"""Tasks with two sequences, with columns, and from outside pass the exam, and are served as they answered."""

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
import torch.nn.functional as F  # the name everyone uses

from burnish.artifact.answering import answer
from burnish.artifact.predictor import Predictor
from burnish.commands.predict import predict, predict_file
from burnish.run.record.result import RunResult
from burnish.testing.exams import Examined
from burnish.testing.tiny_torch import tiny_model
from examples.plugin import test_tickets
from tests.harness.fork_server import ForkServer
from tests.integration.tasks.exam import TaskExam, train
from tests.integration.tasks.rows import change_lines, sentence, write_parts
from tests.project import BAD, GOOD, PLAIN

SEGMENTED = ("input_ids", "attention_mask", "token_type_ids")


def row(draw: random.Random) -> dict[str, Any]:
    """Draw a row that all these tasks can read; the class is told by text and place only together."""
    is_good, place = draw.random() < 0.5, draw.choice(("town", "coast"))
    words, other = GOOD if is_good else BAD, draw.choice((GOOD, BAD))
    text, pair = sentence(draw, words), sentence(draw, other)
    price = None if draw.random() < 0.05 else round(draw.uniform(1, 9), 2)
    label = f"{'good' if is_good else 'bad'} at the {place}"
    beside = {"price": price, "place": place, "unlike": sentence(draw, PLAIN), "label": label, "queue": label}
    told = {"query": text, "passage": pair, "subject": pair, "body": text}
    return {"text": text, "pair": pair, "alike": str(5.0 * (other is words) + draw.random()), **beside, **told}


class FusedExam(TaskExam):
    """One file of rows for all of them."""

    task: ClassVar[str]
    spoilt: ClassVar[Mapping[int, Mapping[str, Any]]]

    def __init_subclass__(cls) -> None:
        data = "{{train: {root}/train.jsonl, validation: {root}/dev.jsonl}}"
        cls.sections = f"task: {{{{{cls.task}, max_length: 16}}}}\ndata: {data}\n"

    @staticmethod
    def write(root: Path) -> None:
        draw = random.Random(3)
        write_parts(root, [row(draw) for _ in range(240)])

    @classmethod
    def spoil(cls, root: Path) -> None:
        change_lines(root / "dev.jsonl", cls.spoilt)

    def test_it_is_served_as_the_run_answered(self, result: RunResult) -> None:
        predictor = Predictor.load(result.directory / "artifact")
        golden = json.loads((result.directory / "artifact" / "golden.json").read_text())
        served = answer(predictor, json.dumps(golden["rows"]).encode(), format="json", allow_missing=True)
        answers = json.loads(served.body)["predictions"]
        assert len(answers) == len(golden["rows"]) == 8
        if "embedding" in answers[0]:
            np.testing.assert_allclose(answers[0]["embedding"], golden["outputs"][0], atol=1e-6)
        else:
            told = pq.read_table(result.directory / "predictions" / "validation.parquet").slice(0, 8)["predicted"]
            assert [each["predicted"] for each in answers] == pytest.approx(told.to_pylist(), abs=1e-5)


class TestOwnTask(TaskExam, test_tickets.TestTickets):
    """A task from outside joins two columns, and brings the exam that the docs show."""

    sections = test_tickets.TestTickets.sections.replace("tickets:", "examples.plugin.tickets:")
    limited = ("row",)

    @pytest.fixture(scope="class")
    @classmethod
    def tiny(cls, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
        made = tiny_model(tmp_path_factory.mktemp("tiny") / "bert", texts=(" ".join(cls.words),))
        return lambda _family: made

    @staticmethod
    def theirs(network: Any, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        return network.model(**{name: batch[name] for name in SEGMENTED}, labels=batch["label"]).loss


class TestRetrieval(FusedExam):
    """A query leads to its passage, and not to a text that is unlike it."""

    tells_loss = False
    waits = ("_local_scalar_dense", "index")
    task = "type: retrieval, negative: unlike"
    refusals = (r"dev\.jsonl:2: passage is empty", r"dev\.jsonl:3: unlike is empty")
    spoilt: ClassVar[Mapping[int, Mapping[str, Any]]] = {2: {"passage": " "}, 3: {"unlike": ""}}
    asked = ({"query": "a good film"},)
    steps_alike = False

    @staticmethod
    def theirs(network: Any, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        query, passage, unlike = (F.normalize(embedded(network, batch, side), dim=1) for side in range(3))
        return F.cross_entropy(query @ torch.cat([passage, unlike]).T / 0.05, torch.arange(len(query)))

    def test_the_loss_ignores_padding(self, examined: Examined) -> None:
        """Compare embeddings, for the loss of a row depends on the others of its batch."""
        lengths = examined.prepared.features["train"]["length"].to_numpy()
        chosen = [int(lengths.argmin()), int(lengths.argmax())]
        with torch.no_grad():
            both, *alone = (
                examined.learner.network(examined.batch(*some)) for some in (chosen, *([it] for it in chosen))
            )
        torch.testing.assert_close(both, torch.cat(alone), rtol=1e-5, atol=1e-5)

    def test_a_file_gets_a_column_of_embeddings(self, result: RunResult, tmp_path: Path) -> None:
        source = tmp_path / "asked.csv"
        source.write_text("query\na good film\nthe story is cold\n")
        assert predict_file(str(result.directory), source=str(source), out=tmp_path / "out.parquet").table.num_rows == 2
        rows = pq.read_table(tmp_path / "out.parquet").to_pylist()
        [one] = predict(str(result.directory), [{"text": "a good film"}])
        assert one.answer is not None
        np.testing.assert_allclose(rows[0]["embedding"], one.answer["embedding"], atol=1e-6)
        assert np.linalg.norm(rows[0]["embedding"]) == pytest.approx(1, abs=1e-5)


class TestSimilarity(FusedExam):
    """How alike two texts are is the cosine of their embeddings."""

    tells_loss = False
    waits = ("_local_scalar_dense", "index")
    task = "type: similarity, label: alike"
    refusals = (r"dev\.jsonl:2: label 'much' is not a number", r"dev\.jsonl:3: pair is empty")
    spoilt: ClassVar[Mapping[int, Mapping[str, Any]]] = {2: {"alike": "much"}, 3: {"pair": ""}}
    asked = ({"text": "a good film", "pair": "a fine film"},)

    @staticmethod
    def theirs(network: Any, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        low, high = network.head.options["scale"]
        one, two = (F.normalize(embedded(network, batch, side), dim=1) for side in range(2))
        return F.mse_loss((one * two).sum(dim=1) * (high - low) + low, batch["label"].float())


class TestTextAndColumns(FusedExam):
    """A text and the columns beside it are read together."""

    task = "type: text_and_columns, columns: [place, price], hidden: [32], dropout: 0, importance: 0"
    refusals = (r"dev\.jsonl:2: label 'gone' is not one of bad at the coast", r"dev\.jsonl:3: text is empty")
    spoilt: ClassVar[Mapping[int, Mapping[str, Any]]] = {2: {"label": "gone"}, 3: {"text": ""}}
    asked = ({"text": "a good film"}, {"text": "a good film", "place": "moon", "price": None})

    @staticmethod
    def theirs(network: Any, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        told = {name: batch[name] for name in SEGMENTED}
        text = mean_of(network.model(**told).last_hidden_state, batch["attention_mask"])
        joined = network.layers(torch.cat([text, network.features(batch)], dim=1))
        return F.cross_entropy(joined @ network.output.weight.T + network.output.bias, batch["label"])

    def test_text_and_columns_together_tell_what_neither_does_alone(
        self, examined: Examined, server: ForkServer
    ) -> None:
        steps = ("train.length=160 steps", "train.evaluate_every=40 steps", "train.checkpoint_every=40 steps")
        more = ("model.dropout=0.1", "task.dropout=0.1", "task.importance=24")
        run = train(Examined.read(examined.root, *steps, *more), "long", server, processes=1)
        assert run.scores["validation"]["accuracy"].value >= 0.95  # the text or the column alone: a half
        found = json.loads((run.directory / "insights.json").read_text())["importance"]
        importance = {name: each["mean"] for name, each in found.items()}
        assert min(importance["text"], importance["place"]) > 0.2 > abs(importance["price"])
        plain, unseen = predict(str(run.directory), self.asked, allow_missing=True)
        assert plain.label is not None  # what is not given takes its default
        assert unseen.label in ("good at the town", "good at the coast")


def embedded(network: Any, batch: Mapping[str, torch.Tensor], side: int) -> torch.Tensor:
    told = {name: batch[name][:, side] for name in SEGMENTED if name in batch}
    return mean_of(network.model(**told).last_hidden_state, told["attention_mask"])


def mean_of(hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return torch.stack([tokens[is_there == 1].mean(dim=0) for tokens, is_there in zip(hidden, mask, strict=True)])
