"""What is remembered of the configs that a user trained with, and where."""

import os
import shutil
from pathlib import Path

import pytest

from burnish.config import load, trust
from burnish.errors import UntrustedCode

PLAIN = "data: {train: x.csv}\nmodel: linear\ntask:\n  type: tabular\n  target: y\n"
OWN = f"{PLAIN}  derived: {{d: {{function: 'own:f', inputs: {{a: number}}}}}}\n"


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BURNISH_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def plan(state: Path, tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    plan = tmp_path / "run" / "plan.yaml"
    plan.write_text(OWN)
    return plan


def test_a_config_of_the_users_own_may_name_any_code(tmp_path: Path, state: Path) -> None:
    (tmp_path / "mine.yaml").write_text(OWN)
    load(str(tmp_path / "mine.yaml"))
    assert not state.exists()


def test_a_plan_is_refused_until_it_is_trusted_and_then_wherever_its_bytes_are(plan: Path, tmp_path: Path) -> None:
    with pytest.raises(UntrustedCode, match="own:f"):
        load(str(plan))
    trust(plan)
    load(str(plan))
    moved = Path(shutil.copytree(plan.parent, tmp_path / "moved"))
    load(str(moved / "plan.yaml"))


def test_other_bytes_are_not_trusted(plan: Path) -> None:
    trust(plan)
    plan.write_text(OWN.replace("own:f", "own:g"))
    with pytest.raises(UntrustedCode, match="own:g"):
        load(str(plan))


def test_nothing_in_a_folder_can_vouch_for_it(plan: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trust(plan)
    shutil.copytree(state, plan.parent / "state")
    shutil.copytree(state, plan.parent / ".local" / "state" / "burnish")
    monkeypatch.setenv("BURNISH_STATE", str(state.parent / "another-user"))
    monkeypatch.chdir(plan.parent)
    with pytest.raises(UntrustedCode):
        load("plan.yaml")


def test_a_run_whose_memory_cannot_be_kept_still_begins(plan: Path, state: Path) -> None:
    state.write_text("a file where the folder should be")
    trust(plan)
    with pytest.raises(UntrustedCode):
        load(str(plan))


def test_a_user_without_a_home_is_asked(plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BURNISH_STATE")
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    trust(plan)
    with pytest.raises(UntrustedCode):
        load(str(plan))


def test_a_plan_without_code_leaves_no_memory(plan: Path, state: Path) -> None:
    plan.write_text(PLAIN)
    trust(plan)
    load(str(plan))
    assert not state.exists()


def test_the_memory_says_what_it_is_of_and_is_the_users_alone(plan: Path, state: Path) -> None:
    trust(plan)
    [record] = (state / "trusted").iterdir()
    assert str(plan) in record.read_text()
    assert "own:f" in record.read_text()
    assert os.stat(state / "trusted").st_mode & 0o077 == 0


def test_what_lies_with_a_manifest_is_a_record_whatever_it_is_called(plan: Path) -> None:
    for name in ("experiment.yaml", "other.yaml"):
        shutil.copy(plan, plan.with_name(name))
        load(str(plan.with_name(name)))
    plan.with_name("MANIFEST.json").write_text("{}")
    for name in ("experiment.yaml", "other.yaml"):
        with pytest.raises(UntrustedCode):
            load(str(plan.with_name(name)))
