"""What is not installed is named together with the extra that brings it."""

import math

import pytest

from burnish.errors import MissingExtra
from burnish.extras import require


def test_what_is_there_is_imported() -> None:
    assert require("math", extra="none", why="to count") is math


def test_what_is_not_there_names_its_extra() -> None:
    with pytest.raises(MissingExtra) as caught:
        require("not_there_at_all.part", extra="hub", why="to read a data set by its hub name")
    assert str(caught.value) == (
        "not_there_at_all is not installed, and it is needed to read a data set by its hub name; "
        "install it with: pip install 'burnish[hub]'"
    )
