from pathlib import Path
from uuid import uuid4

import pytest

from burnish.errors import CheckpointError, StorageError
from burnish.storage import lease, manifest
from burnish.storage.mirror import Mirror
from burnish.storage.remote import Folder, RemoteFile
from burnish.storage.spool import Spool, view


def spool(root: Path, address: str) -> Spool:
    return Spool(root, Folder(address))


def work(place: Spool, text: str, *, is_published: bool = True) -> list[str]:
    """Hold an address, write a file, publish it."""
    said: list[str] = []
    with place.held(tell=said.append) as (held, uploaded):
        place.path.mkdir(exist_ok=True)
        (place.path / "plan.yaml").write_text("plan")
        (place.path / "events.jsonl").write_text(text)
        if is_published:
            Mirror(place.path, place.remote, uploaded, remember=lambda now: place.remember(held.owner, now)).publish()
        held.beat(is_released=True)
    return said


@pytest.fixture
def address() -> str:
    return f"memory://{uuid4().hex}/runs/one"


def test_another_machine_goes_on_from_the_bucket(tmp_path: Path, address: str) -> None:
    work(spool(tmp_path / "a", address), "first")
    other = spool(tmp_path / "b", address)
    with other.held(tell=lambda _sentence: None):
        assert (other.path / "events.jsonl").read_text() == "first"


def test_the_copy_that_was_last_uploaded_is_the_truth_even_if_the_bucket_lacks_its_end(
    tmp_path: Path, address: str
) -> None:
    work(spool(tmp_path / "a", address), "first")
    work(spool(tmp_path / "a", address), "second", is_published=False)
    assert work(spool(tmp_path / "a", address), "third") == []


def test_an_older_copy_is_put_aside_when_another_machine_went_on(tmp_path: Path, address: str) -> None:
    work(spool(tmp_path / "a", address), "first")
    work(spool(tmp_path / "b", address), "second")
    place = spool(tmp_path / "a", address)
    said: list[str] = []
    with place.held(tell=said.append):
        assert (place.path / "events.jsonl").read_text() == "second"
    assert (tmp_path / "a" / "one.old-1" / "events.jsonl").read_text() == "first"
    assert "was changed elsewhere" in said[0]


def test_a_checkpoint_without_its_manifest_is_not_brought_back(tmp_path: Path, address: str) -> None:
    there = Folder(address)
    for name in ("plan.yaml", "checkpoints/step-1/weights", f"checkpoints/step-1/{manifest.NAME}"):
        there.write(name, b"x")
    there.write("checkpoints/step-2/weights", b"half")
    place = spool(tmp_path / "a", address)
    with place.held(tell=lambda _sentence: None):
        assert [path.name for path in (place.path / "checkpoints").iterdir()] == ["step-1"]


def test_a_folder_of_other_files_is_refused(tmp_path: Path, address: str) -> None:
    Folder(address).write("holiday.jpg", b"x")
    with (
        pytest.raises(CheckpointError, match=r"holds holiday\.jpg but no run"),
        spool(tmp_path / "a", address).held(tell=print),
    ):
        pass


def test_two_processes_of_a_machine_do_not_share_a_copy(tmp_path: Path, address: str) -> None:
    with (
        spool(tmp_path / "a", address).held(tell=print),
        pytest.raises(CheckpointError, match="another process of this machine"),
        spool(tmp_path / "a", address).held(tell=print),
    ):
        pass


def test_a_writer_whose_heart_beats_is_not_pushed_aside(address: str) -> None:
    first = lease.take(Folder(address), "first")
    with pytest.raises(CheckpointError, match="is being written by process"):
        lease.take(Folder(address), "second", sleep=lambda _seconds: first.beat())
    assert not first.is_lost()


def test_a_writer_that_died_is_followed_and_notices_when_it_comes_back(address: str) -> None:
    first = lease.take(Folder(address), "first")
    second = lease.take(Folder(address), "second", sleep=lambda _seconds: None)
    assert first.is_lost()
    assert not second.is_lost()
    assert lease.newest_owner(Folder(address)) == "second"


def test_looking_at_a_run_brings_its_small_files_once(tmp_path: Path, address: str) -> None:
    work(spool(tmp_path / "a", address), "first")
    Folder(address).write("checkpoints/step-1/weights", b"large")
    path = view(address, tmp_path / "views")
    assert (path / "events.jsonl").read_text() == "first"
    assert not (path / "checkpoints").exists()
    assert (view(address, tmp_path / "views", is_whole=True) / "checkpoints/step-1/weights").read_bytes() == b"large"
    Folder(address).delete(["events.jsonl"])
    assert not (view(address, tmp_path / "views") / "events.jsonl").exists()


def test_a_live_run_is_looked_at_while_its_files_change_and_go(tmp_path: Path, address: str) -> None:
    work(spool(tmp_path / "a", address), "first")
    Folder(address).write("lock.json", b"held")

    class Busy(Folder):
        """A folder whose writer goes on right after it was listed."""

        def listing(self) -> dict[str, RemoteFile]:
            found = super().listing()
            self.write("events.jsonl", b"first and second")
            self.delete(["lock.json"])
            return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("burnish.storage.spool.Folder", Busy)
        patch.setattr("burnish.storage.remote.time.sleep", lambda _seconds: pytest.fail("it waited"))
        path = view(address, tmp_path / "views")
    assert (path / "events.jsonl").read_text() == "first and second"
    assert not (path / "lock.json").exists()


def test_a_stop_that_was_meant_for_an_ended_run_does_not_stop_the_next(tmp_path: Path, address: str) -> None:
    work(spool(tmp_path / "a", address), "first")
    Folder(address).write("STOP", b"")
    with spool(tmp_path / "b", address).held(tell=lambda _sentence: None):
        assert not Folder(address).has("STOP")


def test_a_lease_that_cannot_be_read_now_is_not_taken_for_nobodys(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease.take(Folder(address), "first")
    monkeypatch.setattr(lease, "keep_trying", lambda call: call())

    class Away(Folder):
        def read(self, name: str = "") -> bytes:
            raise StorageError(f"{name} could not be read: 503")

    with pytest.raises(StorageError, match="503"):
        lease.take(Away(address), "second")
    assert lease.newest_owner(Folder(address)) == "first"
