"""`burnish tokenizer train`: a tokenizer learned from your own texts."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.config import load
from burnish.durable import stage_folder, writing_to
from burnish.errors import ConfigError, DataError, Problem
from burnish.spec.parts import divide_tasks

if TYPE_CHECKING:
    import pyarrow as pa

    from burnish.data.tokens.learn_tokenizer import Frame, Kind

_SAMPLED_TEXTS = 1000
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class LearnedTokenizer:
    """A tokenizer that was written."""

    path: Path
    vocab_size: int
    num_texts: int
    tokens_per_word: float
    """How many tokens a word (what stands between blanks) takes on average, in some of the texts."""


def train(
    files: Sequence[str] = (),
    *,
    out: Path,
    experiment: str | None = None,
    columns: Sequence[str] = (),
    kind: Kind = "wordpiece",
    vocab_size: int = 30_000,
    lowercase: bool | None = None,
    frame: Frame | None = None,
    special: Sequence[str] = (),
    min_frequency: int = 2,
    force: bool = False,
    progress: Progress = lambda done, total: None,
) -> LearnedTokenizer:
    """Learn from files, or from the training rows of an experiment, and write a folder for `model.tokenizer`.

    Letters are made small unless the kind is `bpe`; `frame` says which special tokens stand around a text.
    """
    from burnish.data.tokens.learn_tokenizer import TokenizerRecipe, choose_frame, learn

    checks = {
        "give files to read, or an experiment whose training rows are read (--experiment)": files or experiment,
        "give files or an experiment, not both": not files or not experiment,
        f"the vocabulary must have at least 1 token, got {vocab_size}": vocab_size >= 1,
        f"{out} exists already; choose another folder, or allow it to be replaced (--force)": force or not out.exists(),
    }
    problems = [Problem(problem) for problem, is_right in checks.items() if not is_right]
    if problems:
        raise ConfigError(problems, subject="the request")
    texts = [*(_read_experiment(experiment, columns) if experiment else _read_files(files, columns or ("text",)))]
    lowered = kind != "bpe" if lowercase is None else lowercase
    recipe = choose_frame(
        TokenizerRecipe(kind, vocab_size, lowered, "encoder", tuple(special), min_frequency), frame=frame
    )
    num_texts = sum(len(column) for column in texts)
    _put(out, learn(_iterate(texts, total=num_texts, progress=progress), recipe))
    return _measure(out, texts[0], num_texts=num_texts)


def _read_files(files: Sequence[str], columns: Sequence[str]) -> Iterator[pa.ChunkedArray]:
    from burnish.data.readers.read import read_file

    for table in [read_file(name, columns=columns).table for name in files]:
        yield from _take_texts(table, columns)


def _read_experiment(name: str, columns: Sequence[str]) -> Iterator[pa.ChunkedArray]:
    from burnish.run.preparation.prepare import Preparation

    for part in divide_tasks(load(name).experiment).values():
        yield from _take_texts(Preparation(part).read().train.table, columns or part.task.input_columns)


def _take_texts(table: pa.Table, columns: Sequence[str]) -> Iterator[pa.ChunkedArray]:
    import pyarrow as pa

    missing = [each for each in columns if each not in table.column_names]
    if missing:
        raise DataError(
            f"there is no column {' and no '.join(missing)}; the columns are {', '.join(table.column_names)}"
        )
    for name in columns:
        kind = table.schema.field(name).type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            raise DataError(
                f"the column `{name}` holds {kind}, and a tokenizer learns from text; name another (--column)"
            )
        yield table[name]


def _iterate(texts: Sequence[pa.ChunkedArray], *, total: int, progress: Progress) -> Iterator[str]:
    done = 0
    for column in texts:
        for chunk in column.chunks:
            for text in chunk.to_pylist():
                if text is not None:
                    yield text
            done += len(chunk)
            progress(done, total)


def _put(out: Path, files: dict[str, bytes]) -> None:
    with writing_to(out), stage_folder(out) as building:
        for name, content in files.items():
            (building / name).write_bytes(content)
        if out.exists():
            shutil.rmtree(out)


def _measure(out: Path, texts: pa.ChunkedArray, *, num_texts: int) -> LearnedTokenizer:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
    sample = [text for text in texts.slice(0, _SAMPLED_TEXTS).to_pylist() if text is not None]
    words = sum(len(text.split()) for text in sample)
    tokens = sum(len(each.ids) for each in tokenizer.encode_batch_fast(sample, add_special_tokens=False))
    return LearnedTokenizer(out, tokenizer.get_vocab_size(), num_texts, tokens / max(1, words))
