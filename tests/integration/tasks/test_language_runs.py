"""Language models end to end: killed runs resume to the same bits, artifacts answer, and fine-tuning starts there."""

import json
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from burnish.artifact.predictor import Predictor
from burnish.commands.config import check
from burnish.commands.evaluate import evaluate
from burnish.commands.train import train
from burnish.models.transformer import Transformer
from burnish.spec.values import Head, Objective
from burnish.testing.faults import Fault
from burnish.testing.fork_server import ForkServer, fork_server
from burnish.testing.tiny_torch import tiny_model
from tests.faults.conftest import Scene, Tally, undisturbed
from tests.project import BAD, GOOD, PLAIN

TASKS = {
    "masked_lm": ("bert", "{type: masked_lm, max_length: 14, masking: {whole_words: true}}"),
    "causal_lm": ("gpt2", "{type: causal_lm, max_length: 14}"),
    "pretraining": ("bert", "{type: pretraining, max_length: 20, pairing: next_sentence}"),
    "replaced_tokens": ("electra", "{type: replaced_tokens, max_length: 14, pack: false, generator_size: 0.5}"),
    "permutation_lm": ("xlnet", "{type: permutation_lm, max_length: 14}"),
}
ASKED = {"causal_lm": [{"prompt": "a good film"}], "pretraining": [{"text": "a film. a plot."}]}
TRAINING = """\
optimizer: {learning_rate: 3e-3}
train: {length: 12 steps, batch: 6, evaluate_every: 6 steps, checkpoint_every: 4 steps, keep: 2}
runtime: {threads: 1}
"""
WORDS = (*GOOD, *BAD, *PLAIN)


def write_lines(path: Path, count: int, *, seed: int) -> None:
    draw = random.Random(seed)
    lines = [". ".join(" ".join(draw.choices(WORDS, k=draw.randint(1, 6))) for _ in range(4)) for _ in range(count)]
    path.write_text("".join(f"{line}.\n" for line in lines))


def model_of(root: Path, architecture: str) -> Path:
    folder = root / architecture
    if not folder.exists():
        tiny_model(folder, architecture=architecture, texts=(" ".join(WORDS),))
        if architecture == "xlnet":
            described = json.loads((folder / "tokenizer_config.json").read_text())
            (folder / "tokenizer_config.json").write_text(json.dumps(described | {"mask_token": "<unk>"}))
    return folder


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("language")
    write_lines(folder / "train.txt", 16, seed=0)
    write_lines(folder / "dev.txt", 9, seed=1)
    return folder


def config_of(root: Path, task: str) -> Path:
    architecture, section = TASKS[task]
    path = root / f"{task}.yaml"
    path.write_text(
        f"name: {task}\ntask: {section}\ndata: {{train: {root}/train.txt, validation: {root}/dev.txt}}\n"
        f"model: {model_of(root, architecture)}\n{TRAINING}"
    )
    return path


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    with fork_server() as started:
        yield started


@pytest.fixture(scope="module", params=[*TASKS])
def scene(request: pytest.FixtureRequest, root: Path, server: ForkServer) -> Scene:
    """An undisturbed run of each task."""
    return undisturbed(root / f"runs-{request.param}", server, check(str(config_of(root, request.param))))


def test_killed_and_resumed_it_comes_to_the_same_bits(scene: Scene) -> None:
    run, counted = scene.plan("killed"), Tally()
    point = next(each for each in scene.points_of_save(1) if each.kind == "tensors")
    attempt = scene.start(run, counted, fault=Fault(point.kind, point.number))
    assert attempt.wait() == -signal.SIGKILL
    scene.resume(run, counted)
    scene.assert_same(run, counted)


def test_its_artifact_answers_as_when_it_was_saved(scene: Scene) -> None:
    predictor = Predictor.load(scene.undisturbed.artifact)
    task = predictor.experiment.name
    mask = {"masked_lm": "[MASK]", "replaced_tokens": "[MASK]", "permutation_lm": "<unk>"}.get(task)
    asked = ASKED.get(task) or [{"text": f"a {mask} film"}]
    (answer,) = predictor.predict(asked)
    assert answer.answer is not None
    if task != "pretraining":
        (guesses,) = answer.answer["guesses"]
        chances = [guess["probability"] for guess in guesses]
        assert len(guesses) == 5
        assert chances == sorted(chances, reverse=True)
        assert answer.answer["predicted"] == guesses[0]["token"]


def test_fine_tuning_goes_on_from_its_weights(scene: Scene) -> None:
    head = Head("sequence_classification", 2, Objective("cross_entropy"), ("neg", "pos"))
    model = Transformer(name=str(scene.undisturbed.path))
    network = model.network(head, model.assets())
    trained = Predictor.load(scene.undisturbed.artifact).experiment.model
    before = Transformer(name=trained.name)
    old = before.network(head, before.assets()).model.get_input_embeddings().weight
    new = network.model.get_input_embeddings().weight
    assert not torch.equal(new, old)


@pytest.mark.timeout(600)
def test_two_processes_score_as_one_does_to_the_last_digit(root: Path) -> None:
    result = train(str(config_of(root, "masked_lm")), directory=root / "two", processes=2)
    assert evaluate(str(result.directory), split="validation").scores == result.scores["validation"]
