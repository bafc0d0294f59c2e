"""Rows of several tasks, each from a source of its own."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import SkipValidation

from burnish.spec.component import Component, Slot
from burnish.spec.protocols import DataSource


class Several(Component):
    """A separate data source for each task of `task: multi`."""

    sets: Annotated[Mapping[str, SkipValidation[DataSource]], Slot("data", default="files")]
    """By the names of the tasks."""
