"""`burnish tokenizer train`: a tokenizer learned from your own texts."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.config import load
from burnish.durable import stage_folder
from burnish.errors import ConfigError, DataError, Problem
from burnish.spec.parts import parts_of

if TYPE_CHECKING:
    import pyarrow as pa

    from burnish.data.tokens.learn_tokenizer import Frame, Kind
    from burnish.spec.experiment import Experiment

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
    overrides: Sequence[str] = (),
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
    from burnish.data.tokens.learn_tokenizer import TokenizerRecipe, learn, usual

    _refuse(files, out=out, experiment=experiment, overrides=overrides, vocab_size=vocab_size, force=force)
    tables = _of_experiment(experiment, overrides, columns) if experiment else _of_files(files, columns or ("text",))
    lowered = kind != "bpe" if lowercase is None else lowercase
    recipe = usual(TokenizerRecipe(kind, vocab_size, lowered, "encoder", tuple(special), min_frequency), frame=frame)
    num_texts = sum(len(column) for column in tables)
    written = learn(_texts(tables, total=num_texts, progress=progress), recipe)
    _put(out, written)
    return _told(out, tables, num_texts=num_texts)


def _refuse(
    files: Sequence[str],
    *,
    out: Path,
    experiment: str | None,
    overrides: Sequence[str],
    vocab_size: int,
    force: bool,
) -> None:
    checks = {
        "give files to read, or an experiment whose training rows are read (--experiment)": not files
        and not experiment,
        "give files or an experiment, not both": bool(files) and experiment is not None,
        "KEY=VALUE options need an experiment (--experiment)": bool(overrides) and experiment is None,
        f"the vocabulary must have at least 1 token, got {vocab_size}": vocab_size < 1,
        f"{out} exists already; choose another folder, or allow it to be replaced (--force)": out.exists()
        and not force,
    }
    problems = [Problem(problem) for problem, is_wrong in checks.items() if is_wrong]
    if problems:
        raise ConfigError(problems, subject="the request")


def _of_files(files: Sequence[str], columns: Sequence[str]) -> list[pa.ChunkedArray]:
    from burnish.data.readers.read import read_file

    tables = [read_file(name, columns=columns).table for name in files]
    return [_text(table, name) for table in tables for name in columns]


def _of_experiment(name: str, overrides: Sequence[str], columns: Sequence[str]) -> list[pa.ChunkedArray]:
    parts = parts_of(load(name, overrides=overrides).experiment).values()
    return [text for part in parts for text in _of_task(part, columns)]


def _of_task(experiment: Experiment, columns: Sequence[str]) -> list[pa.ChunkedArray]:
    from burnish.run.preparation.prepare import Preparation

    table = Preparation(experiment).read().train.table
    wanted = columns or experiment.task.input_columns
    missing = [each for each in wanted if each not in table.column_names]
    if missing:
        raise DataError(
            f"there is no column {' and no '.join(missing)}; the columns are {', '.join(table.column_names)}"
        )
    return [_text(table, each) for each in wanted]


def _text(table: pa.Table, name: str) -> pa.ChunkedArray:
    import pyarrow as pa

    kind = table.schema.field(name).type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise DataError(f"the column `{name}` holds {kind}, and a tokenizer learns from text; name another (--column)")
    return table[name]


def _texts(tables: Sequence[pa.ChunkedArray], *, total: int, progress: Progress) -> Iterator[str]:
    done = 0
    for column in tables:
        for chunk in column.chunks:
            for text in chunk.to_pylist():
                if text is not None:
                    yield text
            done += len(chunk)
            progress(done, total)


def _put(out: Path, files: dict[str, bytes]) -> None:
    try:
        with stage_folder(out) as building:
            for name, content in files.items():
                (building / name).write_bytes(content)
            if out.exists():
                shutil.rmtree(out)
    except OSError as error:
        raise DataError(f"{out} could not be written: {error.strerror or error}") from error


def _told(out: Path, tables: Sequence[pa.ChunkedArray], *, num_texts: int) -> LearnedTokenizer:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
    sample = [text for text in tables[0].slice(0, _SAMPLED_TEXTS).to_pylist() if text is not None]
    words = sum(len(text.split()) for text in sample)
    tokens = sum(len(each.ids) for each in tokenizer.encode_batch_fast(sample, add_special_tokens=False))
    return LearnedTokenizer(out, tokenizer.get_vocab_size(), num_texts, tokens / max(1, words))
