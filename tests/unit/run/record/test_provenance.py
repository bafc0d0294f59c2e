"""A run knows the command and the commit it comes from, as far as there are any."""

import subprocess
from pathlib import Path

from burnish.run.record.provenance import COMMAND, provenance


def git(folder: Path, *words: str) -> None:
    name = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "-C", str(folder), *name, *words], check=True, capture_output=True)


def test_a_folder_without_a_repository_has_no_commit(tmp_path: Path) -> None:
    assert provenance(tmp_path, {COMMAND: "burnish train a.yaml"}) == {"command": "burnish train a.yaml"}
    assert provenance(tmp_path, {}) == {}


def test_a_commit_is_named_and_a_change_on_top_of_it_is_seen(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "a.yaml").write_text("a: 1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "first")
    commit = provenance(tmp_path, {})["git_commit"]
    assert len(commit) == 12
    (tmp_path / "a.yaml").write_text("a: 2\n")
    assert provenance(tmp_path, {}) == {"git_commit": f"{commit}-dirty"}
