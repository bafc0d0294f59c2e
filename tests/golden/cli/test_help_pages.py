"""Every help page, as a user with a terminal of 100 columns sees it."""

import os
from collections.abc import Callable

import pytest

from burnish.cli.main import run

PAGES = [
    "",
    "list",
    "new",
    "prepare",
    "prepare features",
    "prepare split",
    "cp",
    "config",
    "config show",
    "config why",
    "config diff",
    "config schema",
    "config check",
    "import",
    "plan",
    "train",
    "tune",
    "evaluate",
    "predict",
    "search",
    "export",
    "push",
    "runs",
    "runs ls",
    "runs show",
    "runs compare",
    "runs logs",
    "runs tail",
    "runs stop",
    "runs wait",
    "runs resume",
    "runs tag",
    "runs rm",
    "jobs",
    *(f"jobs {verb}" for verb in ("ls", "show", "logs", "stop", "wait", "resume", "tag", "rm")),
    "doctor",
    "deploy",
    *(f"deploy {verb}" for verb in ("up", "predict", "down")),
    "package",
    "image",
    *(f"image {verb}" for verb in ("build", "push")),
    "serve",
    "ui",
    "check",
    "resume",
    "rerun",
    "drill",
    "bench",
    "cache",
    "cache ls",
    "cache why-miss",
    "cache prune",
    "cache verify",
    "tokenizer",
    "tokenizer train",
]


@pytest.mark.parametrize("verb", PAGES)
def test_help_page(verb: str, golden: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*verb.split(), "--help"]) == 0
    golden(f"help/{verb.replace(' ', '-') or 'burnish'}", capsys.readouterr().out)


@pytest.mark.parametrize("verb", PAGES)
def test_nothing_is_cut_on_a_terminal_of_80_columns(
    verb: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("shutil.get_terminal_size", lambda *_: os.terminal_size((80, 24)))
    assert run([*verb.split(), "--help"]) == 0
    _usage, *rest = capsys.readouterr().out.splitlines()
    assert [line for line in rest if line.rstrip().endswith("...")] == []
    assert max(map(len, rest)) <= 80


def test_every_verb_has_its_page() -> None:
    import typer

    from burnish.cli.main import app

    top = typer.main.get_command(app)
    verbs = {name for name, command in top.commands.items()}
    nested = {f"{name} {each}" for name, command in top.commands.items() for each in getattr(command, "commands", {})}
    assert verbs | nested == set(PAGES) - {""}


@pytest.mark.parametrize("group", ["", "prepare", "config", "runs", "jobs", "deploy", "image", "cache", "tokenizer"])
def test_a_group_without_a_verb_prints_its_page(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*group.split(), "--help"]) == 0
    page = capsys.readouterr().out
    assert run(group.split()) == 0
    assert capsys.readouterr().out == page
