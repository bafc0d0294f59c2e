"""What every verb refuses alike."""

import inspect
import typing
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from burnish.cli.main import app, run
from burnish.cli.verb import without_others

ADDRESS = "gs://box/out"


def verbs(of: typer.Typer, *before: str) -> Iterator[tuple[tuple[str, ...], typing.Any]]:
    for command in of.registered_commands:
        yield (*before, str(command.name)), command.callback
    for group in of.registered_groups:
        yield from verbs(group.typer_instance, *before, str(group.name))


TAKE_ADDRESSES = {("train", "directory"), ("predict", "out"), ("ls", "root")}


def path_options() -> list[list[str]]:
    """Give an invocation of every verb with an address for each option that is a path."""
    found = []
    for verb, function in verbs(app):
        parameters = inspect.signature(function, eval_str=True).parameters.values()
        marked = [(each, *typing.get_args(each.annotation)[:2]) for each in parameters if each.name != "context"]
        needed = [words for each, _, mark in marked if each.default is each.empty for words in _given(mark, "x")]
        found += [
            [*verb, *needed, *_given(mark, ADDRESS)]
            for each, kind, mark in marked
            if "Path" in str(kind) and (verb[-1], each.name) not in TAKE_ADDRESSES and each.name != "configs"
        ]
    return found


def _given(mark: typing.Any, value: str) -> list[str]:
    flags = [name for name in (mark.default, *(mark.param_decls or ())) if str(name).startswith("--")]
    return [*flags[:1], value]


@pytest.mark.parametrize("words", path_options(), ids=" ".join)
def test_no_path_may_be_an_address(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(words) == 2
    assert f"{ADDRESS} is an address, and this must be a path on this machine" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_there_are_paths_to_refuse() -> None:
    found = {(words[0], words[-2]) for words in path_options()}
    assert {("rerun", "--dir"), ("new", "--out"), ("prepare", "--out")} <= found


@pytest.mark.parametrize("word", ["caf\udce9", "\ud800"])
def test_words_that_are_not_utf8_are_refused_together(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["predict", word, "--text", f"a {word}"]) == 2
    told = capsys.readouterr().err
    assert "the command line has 2 problems" in told
    assert f"{word!a} is not UTF-8" in told
    assert f"{'a ' + word!a} is not UTF-8" in told


@pytest.mark.parametrize("flag", ["-Infinity={{7*7}}", "--learning-rate={{7*7}}", "--epochs=[1"])
def test_an_unknown_flag_is_explained_whatever_its_value_is(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "check", "mine.yaml", flag]) == 2
    assert f"no such option: {flag.partition('=')[0]}" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--", "ui", "--no-such"], ["--version"], ["trian"], ["--help"], []])
def test_only_the_verb_that_is_asked_for_keeps_its_options_and_all_are_listed(words: list[str]) -> None:
    kept, whole = (typer.main.get_command(each) for each in (without_others(app, words), app))
    listed, expected = (
        [(name, each.get_short_help_str()) for name, each in of.commands.items()]  # type: ignore[attr-defined]
        for of in (kept, whole)
    )
    assert listed == expected
    asked = [name for name, each in kept.commands.items() if len(each.params) > 1]  # type: ignore[attr-defined]
    assert set(asked) <= {word for word in words if not word.startswith("-")}
