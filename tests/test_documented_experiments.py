"""What the documentation shows can be trained: each experiment as printed, on small files of the same columns.

A page that cannot be trained here says why, above the block: `<!-- test: skip because … -->`.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from burnish.commands.config import check
from burnish.commands.train import read_result
from burnish.run.record.directory import RunDirectory
from burnish.run.record.plan import settle_plan
from burnish.run.record.result import RunResult, sheet_of
from burnish.testing.tiny_torch import tiny_model
from tests.documented import write_documented
from tests.harness.fork_server import ForkServer, fork_server
from tests.project import BAD, GOOD, PLAIN
from tests.test_docs import ALL_BLOCKS, Block

EXPERIMENTS = [block for block in ALL_BLOCKS if block.text.startswith("# experiment") and not block.is_skipped]
TABLES = [block for block in EXPERIMENTS if "type: tabular" in block.text]
TEXTS = [block for block in EXPERIMENTS if block not in TABLES]
STEPS = 4
BRIEFLY = (f"train.length={STEPS} steps", f"train.evaluate_every={STEPS} steps")


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    with fork_server() as started:
        yield started


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give a folder with every file that an experiment names, and a tiny model for those of the hub."""
    root = tmp_path_factory.mktemp("documented")
    write_documented(root)
    for family in ("bert", "t5"):
        tiny_model(root / family, architecture=family, positions=256, texts=(" ".join((*GOOD, *BAD, *PLAIN)),))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        yield root


@pytest.mark.parametrize("block", TABLES, ids=lambda block: block.place)
def test_a_table_as_printed_beats_its_baselines(block: Block, folder: Path, server: ForkServer) -> None:
    sheet = sheet_of(train(block, folder, server, "task.importance=10"))
    ours = sheet.judged
    assert ours is not None
    assert ours.high is not None
    rivals = {name: scores[sheet.headline].value for name, scores in sheet.baselines.items()}
    assert ours.value > max(rivals["majority"], rivals["logistic"])
    assert ours.high > rivals["boosted_trees"], "trees may win on so few rows, but not beyond the interval"


@pytest.mark.parametrize("block", TEXTS, ids=lambda block: block.place)
def test_a_text_as_printed_trains_to_its_end(block: Block, folder: Path, server: ForkServer) -> None:
    """Beating a baseline takes the pretrained weights that the pages name; a tiny network stands in for them here."""
    result = train(block, folder, server, *BRIEFLY)
    assert (result.reason, result.step) == ("finished", STEPS)
    assert sheet_of(result).judged is not None
    assert result.artifact is not None
    assert result.report is not None


def test_experiments_of_both_sorts_were_found() -> None:
    assert len(TABLES) >= 4
    assert len(TEXTS) >= 20


def train(block: Block, folder: Path, server: ForkServer, *overrides: str) -> RunResult:
    name = block.place.replace("/", "-").replace(":", "-")
    path = folder / f"{name}.yaml"
    path.write_text(block.text)
    run = RunDirectory(folder / "runs" / name)
    settle_plan(run, check(str(path), overrides=("runtime.threads=1", *overrides, *_tiny_instead(path))))
    attempt = server.start(run.path, output=folder / f"{name}.txt")
    assert attempt.wait() == 0, attempt.output.read_text()[-3000:]
    return read_result(run)


def _tiny_instead(path: Path) -> list[str]:
    """Put the tiny model into the place of what a hub or a package would give."""
    experiment = check(str(path)).experiment
    given = [option for option in ("name", "tokenizer") if getattr(experiment.model, option, None) is not None]
    family = "t5" if "seq2seq_lm" in experiment.task.heads else "bert"
    return [f"model.{option}=./{family}" for option in given]
