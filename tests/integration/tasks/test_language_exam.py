"""Every language model passes the exam."""

import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from torch.nn.functional import one_hot

from burnish.commands.predict import predict
from burnish.dist.world import Solo
from burnish.engine.infer_torch import inputs_of
from burnish.metrics.confidence import PAIRS
from burnish.metrics.language import PairAccuracy
from burnish.models.transformer import Transformer
from burnish.models.transformers import language_torch
from burnish.run.build import build_learner
from burnish.run.record.result import RunResult
from burnish.spec.parts import ALONE
from burnish.spec.values import HeadSpec, Objective
from burnish.testing.exams import Examined
from tests.integration.tasks.exam import TaskExam
from tests.project import BAD, GOOD, PLAIN

SEGMENTED = ("input_ids", "attention_mask", "token_type_ids")
WORDS = (*GOOD, *BAD, *PLAIN)
IGNORED = -100


class LanguageExam(TaskExam):
    """Sentences of random words, of which the frequent ones are learned first."""

    task: ClassVar[str]
    mask: ClassVar[str] = "[MASK]"
    has_mask: ClassVar[bool] = True
    asked_as: ClassVar[str] = "text"

    def __init_subclass__(cls) -> None:
        cls.sections = (
            f"task: {{{{{cls.task}}}}}\ndata: {{{{train: {{root}}/train.txt, validation: {{root}}/dev.txt}}}}\n"
        )
        cls.asked = ({cls.asked_as: f"a {cls.mask} film"},)
        cls.refusals = (
            r"dev\.txt:3: .*byte",
            *([rf"dev\.txt:2: text holds {re.escape(cls.mask)}, and only"] * cls.has_mask),
        )

    @staticmethod
    def write(root: Path) -> None:
        for name, count, seed in (("train", 48, 0), ("dev", 20, 1)):
            draw = random.Random(seed)
            lines = [_document(draw) for _ in range(count)]
            (root / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines))

    @classmethod
    def spoil(cls, root: Path) -> None:
        lines = (root / "dev.txt").read_bytes().splitlines()
        lines[1:3] = [f"a {cls.mask} film".encode(), b"a f\xffilm"]
        (root / "dev.txt").write_bytes(b"\n".join(lines) + b"\n")

    def test_it_guesses_what_is_hidden(self, result: RunResult) -> None:
        (said,) = predict(str(result.directory), self.asked)
        assert said.answer is not None
        (guesses,) = said.answer["guesses"]
        chances = [guess["probability"] for guess in guesses]
        assert len(guesses) == 5
        assert chances == sorted(chances, reverse=True)
        assert said.answer["predicted"] == guesses[0]["token"]

    def test_fine_tuning_goes_on_from_its_weights(self, examined: Examined, result: RunResult) -> None:
        head = HeadSpec("sequence_classification", 2, Objective("cross_entropy"), ("neg", "pos"))
        old, new = (
            model.network(head, model.assets()).model.get_input_embeddings().weight
            for model in (examined.resolved.experiment.model, Transformer(name=str(result.directory)))
        )
        assert not torch.equal(new, old)


def _document(draw: random.Random) -> str:
    return " ".join(f"{' '.join(draw.choices(WORDS, k=draw.randint(1, 6)))}." for _ in range(3))


class BeginsAtCounts:
    """The new output of a run begins at how often each token comes."""

    def test_the_first_guess_is_how_often_each_token_comes(self, examined: Examined) -> None:
        part = examined.prepared.parts[ALONE]
        learner = build_learner(examined.resolved.experiment, examined.prepared, Solo())
        bias = learner.network.model.get_output_embeddings().bias.detach().double()
        seen = torch.from_numpy(part.encoder.counts(part.features["train"])) + 1
        assert len(seen.unique()) > 5
        torch.testing.assert_close(bias, (seen / seen.sum()).log(), rtol=0, atol=1e-5, check_dtype=False)


class TestMaskedLm(BeginsAtCounts, LanguageExam):
    """Whole words are hidden in blocks."""

    waits = ("_local_scalar_dense", "index")
    task = "type: masked_lm, max_length: 14, masking: {{whole_words: true}}"

    @staticmethod
    def theirs(network: Any, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        return network.model(**{name: batch[name] for name in SEGMENTED}, labels=batch["label"]).loss


class TestCausalLm(LanguageExam):
    """Blocks are gone on with."""

    waits = ("index",)
    task = "type: causal_lm, max_length: 14"
    family = "gpt2"
    has_mask = False  # any token may be told
    asked_as = "prompt"

    @staticmethod
    def theirs(network: Any, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        labels = torch.roll(batch["label"].masked_fill(~batch["scored"], IGNORED), 1, dims=1)
        labels[:, 0] = IGNORED
        return network.model(**{name: batch[name] for name in SEGMENTED[:2]}, labels=labels).loss


class TestPretraining(BeginsAtCounts, LanguageExam):
    """Tokens are hidden in pairs, of which half do not belong together."""

    tells_loss = False
    waits = ("_local_scalar_dense", "index")
    task = "type: pretraining, max_length: 20, pairing: next_sentence"

    @staticmethod
    def theirs(network: Any, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        told = {name: batch[name] for name in SEGMENTED}
        return network.model(**told, labels=batch["label"], next_sentence_label=batch["pair_label"]).loss

    def test_pairs_are_scored_once_each(self, examined: Examined) -> None:
        outcome, features = examined.predict(ALONE, examples=5), examined.prepared.features["validation"]
        batch = examined.batch(*range(features.num_rows), split="validation")
        with torch.no_grad():
            told = examined.learner.network(inputs_of(batch))["pair"].argmax(dim=1) == batch["pair_label"]
        assert outcome.outputs[:, PAIRS].sum() == features.num_rows
        assert PairAccuracy().scores(outcome)["pair_accuracy"] == pytest.approx(told.float().mean().item())

    def test_it_guesses_what_is_hidden(self, result: RunResult) -> None:
        """Tell how likely a text is: what it hides it chooses itself."""
        (said,) = predict(str(result.directory), ({"text": "a film. a plot."},))
        assert said.answer is not None
        assert said.answer["predicted"].startswith("perplexity ")


class TestPermutationLm(LanguageExam):
    """Some tokens are guessed in random order."""

    waits = ("_local_scalar_dense", "index", "nonzero")
    task = "type: permutation_lm, max_length: 14"
    family = "xlnet"
    mask = "<unk>"

    @staticmethod
    def theirs(network: Any, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        order, scored = batch["order"], batch["scored"]
        hidden = scored[:, None, :] & (order[:, None, :] >= order[:, :, None])
        places = torch.where(scored, torch.arange(scored.shape[1]), scored.shape[1]).sort(dim=1).values
        mapping = one_hot(places, scored.shape[1] + 1)[:, :, :-1].float()
        labels = torch.where(
            places < scored.shape[1], batch["label"].gather(1, places.clamp(max=scored.shape[1] - 1)), IGNORED
        )
        told = {name: batch[name] for name in SEGMENTED}
        return network.model(**told, perm_mask=hidden.float(), target_mapping=mapping, labels=labels).loss


class TestReplacedTokens(LanguageExam):
    """A generator fills in, and the model tells what was replaced."""

    tells_loss = False
    waits = ("_local_scalar_dense", "index")
    task = "type: replaced_tokens, max_length: 14, pack: false, generator_size: 0.5"
    family = "electra"
    steps_alike = False

    @pytest.fixture(autouse=True)
    def _take_the_best_guess(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Draw nothing in this process, so that a batch can be read twice; those that train draw."""
        monkeypatch.setattr(language_torch, "_drawn", lambda logits: logits.argmax(dim=-1))

    @staticmethod
    def theirs(network: Any, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        told = {name: batch[name] for name in SEGMENTED}
        filled = network.generator(**told, labels=batch["label"])
        guessed = torch.where(batch["scored"], filled.logits.argmax(dim=-1), batch["original"])
        replaced = (guessed != batch["original"]).long()
        return filled.loss + 50 * network.model(**{**told, "input_ids": guessed}, labels=replaced).loss
