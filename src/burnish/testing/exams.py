"""The exam that every task must pass, whatever it learns: a pytest class to inherit, with one small experiment."""

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from burnish.artifact.answering import answer
from burnish.artifact.predictor import Predictor, load_all, table_of, views
from burnish.artifact.tables import prediction_columns
from burnish.commands.config import check
from burnish.commands.evaluate import evaluate
from burnish.commands.train import train
from burnish.config import Resolved
from burnish.data.batching.batches import evaluation_plan
from burnish.dist.world import Solo
from burnish.engine.evaluate import infer_all
from burnish.errors import DataError
from burnish.metrics.tally import Tally
from burnish.run.predicting.prediction_tables import prediction_tables
from burnish.run.preparation.prepare import prepare
from burnish.run.preparation.prepared_data import PreparedData
from burnish.run.record.result import RunResult
from burnish.run.selection import metrics_of
from burnish.spec.experiment import Experiment
from burnish.spec.parts import divide_tasks, prefix
from burnish.spec.values import Outcome, RandomKey

if TYPE_CHECKING:
    import torch

    from burnish.engine.losses_torch import Losses

TRAINING = """\
optimizer: {learning_rate: 3e-3}
train: {length: 12 steps, batch: 8, evaluate_every: 6 steps, checkpoint_every: 4 steps, keep: 2}
runtime: {threads: 1, precision: fp32}
"""
Trainer = Callable[["Examined", str, int], RunResult]
"""Trains an experiment into a folder of this name, as so many processes."""


@dataclass(frozen=True)
class Examined:
    """An experiment on disk, and what its encoder and network make of it."""

    root: Path
    resolved: Resolved

    @classmethod
    def read(cls, root: Path, *overrides: str) -> "Examined":
        """Read `experiment.yaml` in a folder."""
        return cls(root, check(str(root / "experiment.yaml"), overrides=overrides))

    @property
    def experiments(self) -> Mapping[str, Experiment]:
        """The experiment of each task; that of a single one has an empty name."""
        return divide_tasks(self.resolved.experiment)

    @cached_property
    def prepared(self) -> PreparedData:
        """Rows, features and profile."""
        return prepare(self.resolved.experiment)

    @cached_property
    def learner(self) -> Any:
        """An untrained network with its optimizer, set to answering."""
        learner = self.build_learner()
        learner.network.eval()
        return learner

    def build_learner(self) -> Any:
        """Make a new network with its optimizer."""
        from burnish.run.build import build_learner

        return build_learner(self.resolved.experiment, self.prepared, Solo())

    def batch(self, *indices: int, split: str = "train") -> "dict[str, torch.Tensor]":
        """Collate examples as training would, or as scoring would for another split."""
        import torch

        draw = RandomKey(seed=0, epoch=0, is_training=split == "train")
        arrays = self.prepared.collate(split)(np.array(indices), draw)
        return {name: torch.tensor(array) for name, array in arrays.items()}

    def loss(self, batch: "Mapping[str, torch.Tensor]", *, weights: Sequence[float] | None = None) -> float:
        """Compute the mean over what the batch scores, or its share of one that weighs so much."""
        import torch

        from burnish.engine.infer_torch import inputs_of

        with torch.no_grad():
            outputs = self.learner.network(inputs_of(batch))
        return float(self._losses.total(outputs, batch, weights=self.weights(batch) if weights is None else weights))

    def weights(self, batch: "Mapping[str, torch.Tensor]") -> list[float]:
        """Weigh a batch, for each term of the loss."""
        return self._losses.weights(batch)

    @property
    def lengths(self) -> np.ndarray[Any, Any]:
        """The lengths of the training examples, those of the first task where there are several."""
        first = next(iter(self.prepared.parts.values()))
        return first.features["train"]["length"].to_numpy()  # type: ignore[no-any-return]  # pyarrow has no types

    def predict(self, task: str, *, examples: int) -> Outcome:
        """Let the untrained network answer the validation rows of a task, so many a batch."""
        experiment, prepared = self.experiments[task], self.prepared.parts[task]
        plan = evaluation_plan(prepared.features["validation"]["length"].to_numpy(), examples=examples)
        outputs = infer_all(self.learner.infer, prepared.collate("validation"), plan, draws=views(experiment))
        outcome = experiment.task.decode(outputs, prepared.profile, prepared.rows["validation"].table)
        return prepared.encoder.put_into_words(outcome)

    def learn_by_heart(self, indices: Sequence[int], *, steps: int) -> list[float]:
        """Show a new network one batch again and again, and list the losses."""
        learner = self.build_learner()
        batch = self.prepared.collate("train")(np.array(indices), RandomKey(seed=0, epoch=0, is_training=True))
        return [learner.step([batch], step=step, factor=1.0).loss for step in range(steps)]

    @property
    def _losses(self) -> "Losses":
        import torch

        from burnish.engine.losses_torch import Losses

        head = self.resolved.experiment.task.head(self.prepared.profile)
        return Losses(head.objective, head.terms, torch.device("cpu"), parts=tuple(head.parts.values()))


class TaskExam:
    """Inherit it as `TestMyTask`, write the files of a small experiment, and say what a spoilt one is refused with."""

    sections: ClassVar[str]
    """YAML of `task` and `data`; {root} is the folder of the files."""
    model: ClassVar[str] = "{{name: {tiny}, dropout: 0}}"
    """YAML of `model`, without anything random; {tiny} is the folder of a tiny one of the family below."""
    family: ClassVar[str] = "bert"
    words: ClassVar[tuple[str, ...]] = ()
    """The words that the tiny model's tokenizer knows."""
    refusals: ClassVar[tuple[str, ...]]
    """Patterns of what is said, in one refusal, of the rows that `spoil` wrote; an unseen label with those known."""
    asked: ClassVar[tuple[dict[str, Any], ...]]
    """Rows to predict."""
    pads: ClassVar[bool] = True
    """Whether examples differ in length."""
    steps_alike: ClassVar[bool] = True
    """Whether two processes take the steps of one; not where each of them draws, or looks for wrong answers alone."""

    @staticmethod
    def write(root: Path) -> None:
        """Write the data, at least 40 rows to train on and 20 to validate on, of lengths that differ."""
        raise NotImplementedError

    @staticmethod
    def spoil(root: Path) -> None:
        """Put rows that cannot be used into the validation file; a label that training does not know, if any."""
        raise NotImplementedError

    @pytest.fixture(scope="class")
    @classmethod
    def tiny(cls, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
        """Make the folder of a two-layer model of a family that knows `words`."""
        from burnish.testing.tiny_torch import tiny_model

        folder = tmp_path_factory.mktemp("tiny")
        return lambda family: tiny_model(folder / family, architecture=family, texts=(" ".join(cls.words),))

    @pytest.fixture(scope="class")
    @classmethod
    def trainer(cls) -> Trainer:
        """Train in worker processes, as `burnish train` does."""
        return lambda examined, name, processes: train(
            examined.root / "experiment.yaml", directory=examined.root / name, processes=processes
        )

    @pytest.fixture(scope="class")
    @classmethod
    def examined(cls, tmp_path_factory: pytest.TempPathFactory, tiny: Callable[[str], Path]) -> Examined:
        """The experiment, written."""
        return cls._write(tmp_path_factory.mktemp("exam"), tiny)

    @pytest.fixture(scope="class")
    @classmethod
    def result(cls, examined: Examined, trainer: Trainer) -> RunResult:
        """A run of two processes."""
        return trainer(examined, "two", 2)

    @classmethod
    def _write(cls, root: Path, tiny: Callable[[str], Path]) -> Examined:
        cls.write(root)
        model = cls.model.format(tiny=tiny(cls.family) if "{tiny}" in cls.model else "")
        (root / "experiment.yaml").write_text(f"{cls.sections.format(root=root)}model: {model}\n{TRAINING}")
        return Examined.read(root)

    def test_the_loss_ignores_padding(self, examined: Examined) -> None:
        """Learn from two examples of unlike length as from each by itself."""
        chosen = [int(examined.lengths.argmin()), int(examined.lengths.argmax())]
        assert (examined.lengths[chosen[0]] < examined.lengths[chosen[1]]) == self.pads
        both = examined.batch(*chosen)
        weights = examined.weights(both)
        alone = [examined.loss(examined.batch(index), weights=weights) for index in chosen]
        assert examined.loss(both) == pytest.approx(sum(alone), rel=1e-5, abs=1e-5)

    def test_scores_are_of_the_whole_set_whatever_the_batches(self, examined: Examined) -> None:
        """Score a split alike in batches of 1, 3 and 64."""
        found = [self._score(examined, examples=examples) for examples in (1, 3, 64)]
        assert found[0]
        # What an untrained network says differs so little that a correlation keeps few digits.
        assert found[0] == pytest.approx(found[2], rel=1e-6, abs=1e-4, nan_ok=True)
        assert found[1] == pytest.approx(found[2], rel=1e-6, abs=1e-4, nan_ok=True)

    def _score(self, examined: Examined, *, examples: int) -> dict[str, float]:
        found: dict[str, float] = {}
        for name, part in examined.prepared.parts.items():
            outcome = examined.predict(name, examples=examples)
            np.testing.assert_array_equal(outcome.rows, np.arange(len(part.rows["validation"])))
            scores = Tally(metrics_of(examined.experiments[name], part.profile), [outcome]).scores()
            found |= {prefix(name, score): value for score, value in scores.items()}
        return found

    def test_rows_that_cannot_be_used_are_refused_together_each_with_its_place(
        self, tmp_path: Path, tiny: Callable[[str], Path]
    ) -> None:
        """Say all that is wrong with a file at once."""
        examined = self._write(tmp_path, tiny)
        self.spoil(tmp_path)
        with pytest.raises(DataError) as refused:
            examined.prepared  # noqa: B018  # preparing is the act
        for pattern in self.refusals:
            refused.match(pattern)

    def test_it_learns_a_batch_by_heart(self, examined: Examined) -> None:
        """Let the loss fall on a batch that is seen again and again."""
        losses = examined.learn_by_heart(range(8), steps=40)
        assert losses[-1] < 0.7 * losses[0]

    def test_two_processes_take_the_steps_of_one(self, examined: Examined, result: RunResult, trainer: Trainer) -> None:
        """Train the same whatever the number of processes."""
        mine, theirs = read_steps(result.directory), read_steps(trainer(examined, "one", 1).directory)
        for name in ("step", "epoch", "examples", "tokens", "learning_rate"):
            assert [step[name] for step in mine] == [step[name] for step in theirs]
        if self.steps_alike:
            assert [step["loss"] for step in mine] == pytest.approx([step["loss"] for step in theirs], abs=1e-4)

    def test_two_processes_score_as_one_does_to_the_last_digit(self, result: RunResult) -> None:
        """Reproduce the scores of a run from its artifact."""
        assert evaluate(str(result.directory), split="validation").scores == result.scores["validation"]

    def test_predictions_of_two_processes_are_those_of_one_in_row_order(
        self, examined: Examined, result: RunResult
    ) -> None:
        """Write predictions row by row, as the artifact gives them."""
        for name, part in examined.prepared.parts.items():
            written = pq.read_table(result.directory / "predictions" / name / "validation.parquet")
            rows = part.rows["validation"]
            assert written["row"].to_pylist() == list(range(len(rows)))
            assert "predicted" in written.column_names
            said = Predictor.load(result.directory / "artifact", task=name or None).outcome(rows.table)
            shown = ["text"]
            columns = examined.experiments[name].task.input_columns[:1]
            alone = pa.concat_tables(prediction_tables(said, rows, shown=columns))
            assert alone.drop_columns(shown) == written.drop_columns(shown)

    def test_the_artifact_answers_as_it_did_when_it_was_saved(self, result: RunResult) -> None:
        """Answer the golden rows of an artifact, by call and by request."""
        predictor = Predictor.load(result.directory / "artifact")
        assert len(predictor.predict(self.asked)) == len(self.asked)
        golden = json.loads((result.directory / "artifact" / "golden.json").read_text())
        assert len(golden["outputs"]) == len(golden["rows"]) == 8
        served = json.loads(
            answer(predictor, json.dumps(golden["rows"]).encode(), format="json", allow_missing=True).body
        )["predictions"]
        table = table_of(golden["rows"], predictor.task, profile=predictor.profile)
        said = prediction_columns(predictor.outcome(table))["predicted"].to_pylist()
        assert [row["predicted"] for row in served] == pytest.approx(said, abs=1e-6)

    def test_threads_that_predict_at_once_answer_as_one_does(self, result: RunResult) -> None:
        """A server computes on several threads, and nothing that a prediction keeps may be seen by another."""
        golden = json.loads((result.directory / "artifact" / "golden.json").read_text())
        for name, predictor in load_all(result.directory / "artifact").items():
            rows = (golden["tasks"][name] if name else golden)["rows"]
            tables = [table_of(rows[at:], predictor.task, profile=predictor.profile) for at in range(4)]
            alone = [predictor.outcome(table).outputs for table in tables]
            with ThreadPoolExecutor(4) as pool:
                together = [*pool.map(lambda table: predictor.outcome(table).outputs, tables * 4)]  # noqa: B023  # at once
            for found, expected in zip(together, alone * 4, strict=True):
                np.testing.assert_allclose(found, expected, atol=1e-3)


def read_steps(run: Path) -> list[dict[str, Any]]:
    """Read the steps that a run recorded."""
    lines = (json.loads(line) for line in (run / "events.jsonl").read_text().splitlines())
    return [line for line in lines if line["event"] == "stepped"]
