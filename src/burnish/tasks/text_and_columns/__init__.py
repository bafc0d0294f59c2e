"""A text together with the columns of a table."""

from burnish.tasks.text_and_columns.task import TextAndColumns

__all__ = ["TextAndColumns"]
