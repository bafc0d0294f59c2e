from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.errors import StorageError
from burnish.storage.address import read_address
from burnish.storage.remote import Folder, check_name, explain, keep_trying, match_files, writing_at


def folder() -> Folder:
    return Folder(f"memory://{uuid4().hex}/run")


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("gs://box/a/", "gs://box/a"),
        (Path("gs://box/a"), "gs://box/a"),
        ("runs/a", None),
        ("package:movies/a.csv", None),
        ("C:/data", None),
        (None, None),
    ],
)
def test_an_address_is_told_from_a_path(written: str | Path | None, address: str | None) -> None:
    assert read_address(written) == address


@given(st.text(max_size=20))
def test_a_name_that_is_taken_stays_below_its_folder(name: str) -> None:
    try:
        check_name(name, "gs://box")
    except StorageError:
        return
    assert (Path("/root/folder") / name).resolve().is_relative_to("/root/folder")


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/../../x", "a//b", "a\\b", "a\nb", "./a"])
def test_a_name_that_leads_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(StorageError, match="no name of a file"):
        check_name(name, "gs://box")


def test_objects_are_written_listed_read_and_deleted(tmp_path: Path) -> None:
    there = folder()
    there.write("a/b.txt", b"one")
    (tmp_path / "c").write_bytes(b"three")
    there.put("c", tmp_path / "c")
    assert {name: each.num_bytes for name, each in there.listing().items()} == {"a/b.txt": 3, "c": 5}
    there.get("c", tmp_path / "deep" / "d", expected=there.listing()["c"])
    assert (tmp_path / "deep" / "d").read_bytes() == b"three"
    there.delete(["a/b.txt", "never"])
    assert list(there.listing()) == ["c"]


def test_nothing_is_listed_where_nothing_is() -> None:
    assert folder().listing() == {}
    assert folder().file() is None


def test_a_new_object_is_not_written_over_another() -> None:
    there = folder()
    there.write("a", b"1", is_new=True)
    with pytest.raises(FileExistsError):
        there.write("a", b"2", is_new=True)
    assert there.read("a") == b"1"


def test_what_may_succeed_is_tried_again_and_what_may_not_is_not() -> None:
    turns: list[int] = []

    def fail_twice() -> str:
        turns.append(1)
        if len(turns) < 3:
            raise StorageError("busy")
        return "done"

    def refuse() -> None:
        turns.append(1)
        raise StorageError("never", is_final=True)

    assert keep_trying(fail_twice, sleep=lambda _seconds: None) == "done"
    turns.clear()
    with pytest.raises(StorageError):
        keep_trying(refuse, sleep=lambda _seconds: None)
    assert turns == [1]


@pytest.mark.parametrize(
    ("error", "done", "sentence"),
    [
        (ValueError("Protocol not known: gss"), "read", "did you mean gs://box/a?"),
        (PermissionError("Forbidden"), "written", "may not be written with your credentials"),
        (OSError("Anonymous caller does not have storage.objects.get access"), "read", "gcloud auth"),
        (FileNotFoundError("box"), "written", "there is no bucket box; create it"),
        (FileNotFoundError("box"), "read", "there is nothing at"),
        (TimeoutError("slow"), "read", "could not be read: slow"),
    ],
)
def test_a_store_s_error_becomes_a_sentence(error: Exception, done: str, sentence: str) -> None:
    address = "gss://box/a" if isinstance(error, ValueError) else "gs://box/a"
    assert sentence in str(explain(address, error, done=done))


class Answer(Exception):
    """What clients raise that know the status of an answer."""

    def __init__(self, message: str, **told: object) -> None:
        super().__init__(message)
        vars(self).update(told)


@pytest.mark.parametrize(
    ("error", "is_final"),
    [
        (Answer("Service Unavailable: https://host/b/box/o/run-403%2Fa", code=503), False),
        (Answer("credentials/a.csv is not to be had now", status=500), False),
        (Answer("slow down", response={"ResponseMetadata": {"HTTPStatusCode": 503}, "Error": {"Code": "403"}}), False),
        (OSError("503 Service Unavailable: gs://box/run-403/denied.csv and https://host/b/credentials"), False),
        (TimeoutError("box/anonymous/forbidden-401.csv"), False),
        (Answer("no", code=403), True),
        (Answer("no", status=401), True),
        (Answer("no", response={"ResponseMetadata": {"HTTPStatusCode": 403}}), True),
        (OSError("Forbidden: https://host/b/box/o/a"), True),
        (Answer("Unable to locate credentials"), True),
    ],
)
def test_the_answer_of_a_store_and_not_a_name_in_it_tells_whether_to_try_again(
    error: Exception, is_final: bool
) -> None:
    found = explain("gs://box/run-403/a", error)
    assert found.is_final == is_final
    assert ("with your credentials" in str(found)) == is_final


def test_a_file_that_is_not_there_is_missing_whatever_it_is_called() -> None:
    assert "there is nothing at" in str(
        explain("gs://box/credentials", FileNotFoundError("box/credentials denied 403"))
    )


def test_the_status_of_what_an_error_came_from_counts() -> None:
    error = OSError("put failed")
    error.__cause__ = Answer("no", code=403)
    assert explain("gs://box/a", error).is_final


def test_only_a_refused_precondition_says_that_an_object_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    there, fault = folder(), Answer("503: https://host/o/step-412", code=503)

    def fail(*_: object, **__: object) -> None:
        raise fault

    monkeypatch.setattr("fsspec.implementations.memory.MemoryFileSystem.pipe_file", fail)
    with pytest.raises(StorageError):
        there.write("step-412", b"1", is_new=True)
    fault = Answer("precondition", code=412)
    with pytest.raises(FileExistsError):
        there.write("step-412", b"1", is_new=True)


def test_a_file_is_written_here_and_put_at_its_address(tmp_path: Path) -> None:
    there = folder()
    with writing_at(Path(f"{there.address}/out.csv")) as path:
        path.write_text("a\n")
    assert there.read("out.csv") == b"a\n"
    with writing_at(tmp_path / "here.csv") as path:
        assert path == tmp_path / "here.csv"


def test_a_pattern_means_files_and_no_folders() -> None:
    there = folder()
    for name in ("a.csv", "b.csv", "more/c.csv"):
        there.write(name, b"x")
    assert [each.rpartition("/")[2] for each in match_files(f"{there.address}/*")] == ["a.csv", "b.csv"]
