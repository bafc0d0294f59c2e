from pathlib import Path
from uuid import uuid4

import pytest

from burnish.commands.copy import cp
from burnish.storage.remote import Folder


@pytest.mark.parametrize(
    ("target", "name"),
    [("data", "data/rides.csv"), ("data/today.csv", "data/today.csv"), ("v1.2", "v1.2/rides.csv"), ("", "rides.csv")],
)
def test_a_file_gets_the_name_at_an_address_that_ends_as_it_does_and_else_goes_below_it(
    target: str, name: str, tmp_path: Path
) -> None:
    bucket = f"memory://{uuid4().hex}.csv"
    (tmp_path / "rides.csv").write_text("a\n")
    cp(str(tmp_path / "rides.csv"), f"{bucket}/{target}")
    assert list(Folder(bucket).listing()) == [name]
