"""An artifact of every kind of answer, tiny and trained in seconds, for what is made of a signature."""

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from burnish.commands.config import check
from burnish.run.record.directory import RunDirectory
from burnish.run.record.plan import settle_plan
from burnish.testing.tiny_torch import tiny_model
from tests.harness.fork_server import ForkServer
from tests.project import BAD, GOOD, PLAIN

_TASKS: Mapping[str, str] = {
    "tags": "type: token_classification, max_length: 32",
    "questions": "type: question_answering, max_length: 48, max_question: 8, stride: 8, max_answer: 4",
    "choices": "type: multiple_choice, question: question, max_length: 32",
    "masked": "type: masked_lm, max_length: 32",
    "search": "type: retrieval, query: question, passage: answer, max_length: 32",
    "alike": "type: similarity, text: one, pair: two, label: score, max_length: 32",
    "price": "type: text_classification, kind: regression, label: price, max_length: 32",
    "summary": "type: seq2seq, max_length: 32, max_target_length: 8",
    "topics": "type: text_classification, kind: multilabel, label: topics, max_length: 32",
    "mixed": "type: text_and_columns, label: mood, columns: [stars, place], max_length: 32, importance: 0",
}
_MODELS = {"model": "bert", "writer": "t5"}
TOPICS = ("music", "film; drama")
"""Names of labels may hold what joins them in an answer."""


def train_tasks(root: Path, server: ForkServer) -> Path:
    """Train a model of each task; each is in the folder of its name."""
    texts = (" ".join((*GOOD, *BAD, *PLAIN, ".")),)
    model, writer = (tiny_model(root / each, architecture=kind, texts=texts) for each, kind in _MODELS.items())
    for name, task in _TASKS.items():
        rows = [_ROWS[name](random.Random(number)) for number in range(96)]
        for part, some in (("train", rows[:72]), ("dev", rows[72:])):
            (root / f"{name}_{part}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in some))
        (root / f"{name}.yaml").write_text(
            f"task: {{{task}}}\n"
            f"data: {{train: {root}/{name}_train.jsonl, validation: {root}/{name}_dev.jsonl}}\n"
            f"model: {writer if name == 'summary' else model}\noptimizer: {{learning_rate: 3e-3}}\n"
            "train: {length: 30 steps, batch: 8}\nruntime: {threads: 1, precision: fp32}\n"
        )
        run = RunDirectory(root / name)
        settle_plan(run, check(str(root / f"{name}.yaml")))
        attempt = server.start(run.path, output=root / f"{name}.log")
        assert attempt.wait() == 0, attempt.output.read_text()[-3000:]
    return root


def _sentence(draw: random.Random, *words: str) -> list[str]:
    chosen = [*draw.choices(PLAIN, k=draw.randint(4, 8)), *words]
    draw.shuffle(chosen)
    return chosen


def _tags(draw: random.Random) -> dict[str, Any]:
    words = _sentence(draw, draw.choice(GOOD), draw.choice(BAD))
    return {"words": words, "tags": ["B-NICE" if word in GOOD else "B-POOR" if word in BAD else "O" for word in words]}


def _question(draw: random.Random) -> dict[str, Any]:
    answer, words = draw.choice(GOOD), _sentence(draw)
    begin = len(" ".join([*words, ""]))
    context = " ".join([*words, answer, *_sentence(draw)])
    return {"question": "is the story", "context": context, "answers": [{"text": answer, "answer_start": begin}]}


def _choice(draw: random.Random) -> dict[str, Any]:
    right, wrong = draw.sample([GOOD, BAD], 2)
    label = draw.randrange(3)
    choices = [draw.choice(right if number == label else wrong) for number in range(3)]
    return {"context": " ".join(_sentence(draw, *right[:2])), "question": "is", "choices": choices, "label": label}


def _pair(draw: random.Random) -> tuple[str, str]:
    word = draw.choice(GOOD + BAD)
    return " ".join(_sentence(draw, word, word)), " ".join(_sentence(draw, word, word))


def _topics(draw: random.Random) -> dict[str, Any]:
    has = {TOPICS[0]: draw.random() < 0.6, TOPICS[1]: draw.random() < 0.6}
    words = [word for topic, word in zip(TOPICS, (GOOD[0], BAD[0]), strict=True) if has[topic]]
    return {"text": " ".join(_sentence(draw, *words, *words)), "topics": [topic for topic in TOPICS if has[topic]]}


def _mixed(draw: random.Random) -> dict[str, Any]:
    stars = draw.randint(1, 5)
    words = draw.choices(GOOD if stars > 2 else BAD, k=2)
    place = draw.choice(["home", "cinema"])
    return {
        "text": " ".join(_sentence(draw, *words)),
        "stars": stars,
        "place": place,
        "mood": "pos" if stars > 2 else "neg",
    }


def _summary(draw: random.Random) -> dict[str, Any]:
    word = draw.choice(GOOD)
    return {"source": " ".join(_sentence(draw, word)), "target": f"{word} film"}


_ROWS: Mapping[str, Callable[[random.Random], dict[str, Any]]] = {
    "tags": _tags,
    "questions": _question,
    "choices": _choice,
    "masked": lambda draw: {"text": " ".join(_sentence(draw, draw.choice(GOOD)))},
    "search": lambda draw: dict(zip(("question", "answer"), _pair(draw), strict=True)),
    "alike": lambda draw: {**dict(zip(("one", "two"), _pair(draw), strict=True)), "score": draw.randint(0, 5)},
    "price": lambda draw: {"text": " ".join(_sentence(draw, *draw.choices(GOOD, k=2))), "price": draw.uniform(5, 50)},
    "summary": _summary,
    "topics": _topics,
    "mixed": _mixed,
}
