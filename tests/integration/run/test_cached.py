"""A second run starts without tokenising; what would change the features makes it encode again, and says why."""

from pathlib import Path

import pytest

from burnish.artifact import foreign
from burnish.commands.cache import why_miss
from burnish.config import load
from burnish.data.tokens import text as text_module
from burnish.run.preparation.prepare import prepare
from burnish.run.record.directory import RunDirectory
from burnish.testing.tiny_torch import tiny_model
from tests.project import Project, make_project


@pytest.fixture
def project(tmp_path: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("BURNISH_CACHE", str(tmp_path / "cache"))
    return make_project(tmp_path / "project", model=tiny_bert, rows=200)


def told(project: Project, *overrides: str) -> list[str]:
    """Prepare the data of a project, and give what was said on the way."""
    said: list[str] = []
    directory = RunDirectory(project.root / "run")
    directory.path.mkdir(exist_ok=True)
    prepare(load(str(project.config), overrides=overrides).experiment, directory, tell=said.append)
    return said


def reasons(project: Project, *overrides: str) -> list[str]:
    return [reason for lookup in why_miss(project.config, overrides=overrides) for reason in lookup.reasons]


def test_a_second_run_tokenises_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(told(project)) == 3
    monkeypatch.setattr(text_module, "tokenize", lambda *_, **__: pytest.fail("tokenised again"))
    assert told(project) == []
    assert [lookup.is_cached for lookup in why_miss(project.config)] == [True] * 3


def test_whatever_shapes_the_features_makes_a_miss_and_is_named(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert all(lookup.nearest is None for lookup in why_miss(project.config))
    told(project)
    other = tiny_model(tmp_path / "other", texts=("some quite other words",))
    assert reasons(project, f"model.tokenizer={other}") == ["another tokenizer"] * 3
    assert all("truncation policy" in reason for reason in reasons(project, "task.truncation=tail"))
    assert reasons(project, "task.max_length=12") == ["max_length is 12 here and 24 there"] * 3
    project.data.write_text(project.data.read_text().replace("film", "movie", 1))
    assert all(reason.startswith("other data") for reason in reasons(project))
    assert len(told(project)) == 3
    monkeypatch.setattr(text_module, "VERSION", 99)
    assert reasons(project) == ["another version of the encoding code"] * 3


def test_other_code_of_the_users_own_or_another_tokenizers_library_makes_a_miss(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    source = tmp_path / "own_cut.py"
    source.write_text("from burnish.data.truncation import Head\n\nclass Cut(Head):\n    pass\n")
    own = "task.truncation={type: own_cut:Cut}"
    told(project, own)
    assert [lookup.is_cached for lookup in why_miss(project.config, overrides=[own])] == [True] * 3
    source.write_text(source.read_text().replace("Head", "Tail"))
    assert reasons(project, own) == ["another version of own_cut"] * 3
    told(project, own)
    monkeypatch.setattr(foreign, "version", lambda _name: "0.0.1")
    assert reasons(project, own) == ["another version of tokenizers"] * 3
