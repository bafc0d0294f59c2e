"""Text classification: one label, several, or a number for a text or a pair of texts."""

from burnish.tasks.text_classification.task import TextClassification

__all__ = ["TextClassification"]
