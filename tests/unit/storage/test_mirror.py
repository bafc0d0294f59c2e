import os
from pathlib import Path
from shutil import rmtree
from uuid import uuid4

import pytest

from burnish.storage import manifest
from burnish.storage import mirror as mirror_module
from burnish.storage.mirror import Mirror
from burnish.storage.remote import Folder


class Recorded(Folder):
    """Remembers what was asked of it."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        object.__setattr__(self, "asked", [])

    def write(self, name: str, content: bytes, *, is_new: bool = False) -> None:
        self.asked.append(f"put {name}")  # type: ignore[attr-defined]
        super().write(name, content, is_new=is_new)

    def delete(self, names) -> None:
        names = list(names)
        self.asked.extend(f"delete {name}" for name in names)  # type: ignore[attr-defined]
        super().delete(names)


def make(tmp_path: Path) -> tuple[Mirror, Recorded]:
    remote = Recorded(f"memory://{uuid4().hex}/run")
    return Mirror(tmp_path, remote), remote


def save(tmp_path: Path, step: int, content: str = "w") -> Path:
    folder = tmp_path / "checkpoints" / f"step-{step}"
    folder.mkdir(parents=True)
    (folder / "weights").write_text(content)
    (folder / "zz").write_text(content)
    manifest.commit(folder, {})
    return folder


def test_events_come_first_the_manifest_after_its_files_and_the_ending_last(tmp_path: Path) -> None:
    mirror, remote = make(tmp_path)
    save(tmp_path, 1)
    for name in ("exit.json", "events.jsonl", "plan.yaml", "STOP", ".lock"):
        (tmp_path / name).write_text("x")
    mirror.publish()
    inside = [f"put checkpoints/step-1/{name}" for name in ("weights", "zz", manifest.NAME)]
    assert remote.asked == ["put events.jsonl", "put plan.yaml", *inside, "put exit.json"]
    assert mirror.pending() == 0


def test_a_run_inside_of_the_folder_is_uploaded_in_the_same_order(tmp_path: Path) -> None:
    mirror, remote = make(tmp_path)
    save(tmp_path / "run", 1)
    for name in ("exit.json", "events.jsonl"):
        (tmp_path / "run" / name).write_text("x")
    mirror.publish()
    inside = [f"put run/checkpoints/step-1/{name}" for name in ("weights", "zz", manifest.NAME)]
    assert remote.asked == ["put run/events.jsonl", *inside, "put run/exit.json"]


def test_what_did_not_change_is_not_uploaded_again(tmp_path: Path) -> None:
    mirror, remote = make(tmp_path)
    (tmp_path / "plan.yaml").write_text("x")
    mirror.publish()
    mirror.publish()
    assert remote.asked == ["put plan.yaml"]


def test_a_checkpoint_that_went_is_deleted_manifest_first_and_after_the_new_one_came(tmp_path: Path) -> None:
    mirror, remote = make(tmp_path)
    old = save(tmp_path, 1)
    mirror.publish()
    remote.asked.clear()
    for path in old.iterdir():
        path.unlink()
    save(tmp_path, 2)
    mirror.publish()
    assert remote.asked[-3:] == [f"delete checkpoints/step-1/{name}" for name in (manifest.NAME, "weights", "zz")]
    assert all(each.startswith("put checkpoints/step-2/") for each in remote.asked[:3])


def test_a_manifest_is_withdrawn_before_a_file_under_it_changes(tmp_path: Path) -> None:
    mirror, remote = make(tmp_path)
    folder = save(tmp_path, 1)
    mirror.publish()
    remote.asked.clear()
    (folder / "weights").write_text("other")
    manifest.commit(folder, {})
    mirror.publish()
    assert remote.asked[:2] == [f"delete checkpoints/step-1/{manifest.NAME}", "put checkpoints/step-1/weights"]
    assert remote.asked[-1] == f"put checkpoints/step-1/{manifest.NAME}"


def test_a_manifest_that_was_withdrawn_is_back_after_the_same_pass(tmp_path: Path) -> None:
    mirror, remote = make(tmp_path)
    folder = save(tmp_path, 1)
    mirror.publish()
    (folder / "weights").write_text("other")
    mirror.publish(is_last=True)
    assert remote.has(f"checkpoints/step-1/{manifest.NAME}")
    assert remote.asked[-1] == f"put checkpoints/step-1/{manifest.NAME}"
    assert mirror.pending() == 0


def test_a_file_that_grows_is_uploaded_for_a_small_part_of_the_time_until_a_checkpoint_comes(tmp_path: Path) -> None:
    mirror, remote = make(tmp_path)
    clock = iter(range(10_000))
    mirror.now = lambda: float(next(clock))
    events = tmp_path / "events.jsonl"
    for turn in range(3):
        events.write_text("x" * turn)
        os.utime(events, ns=(turn, turn))
        mirror.publish()
    assert remote.asked == ["put events.jsonl"] * 2
    save(tmp_path, 1)
    mirror.publish()
    assert remote.asked[2] == "put events.jsonl"


def test_links_are_not_followed(tmp_path: Path) -> None:
    mirror, remote = make(tmp_path / "run")
    (tmp_path / "run").mkdir()
    (tmp_path / "secret").write_text("x")
    (tmp_path / "run" / "link").symlink_to(tmp_path / "secret")
    mirror.publish()
    assert remote.asked == []


def test_a_large_file_that_goes_while_it_is_read_holds_nothing_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror_module, "_SMALL_BYTES", 0)
    mirror, remote = make(tmp_path)
    save(tmp_path, 1)

    def put(name: str, path: Path) -> None:
        rmtree(path.parent)
        Folder.put(remote, name, path)

    object.__setattr__(remote, "put", put)
    mirror.publish()
    mirror.publish()
    assert remote.listing() == {}
