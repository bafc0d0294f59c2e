"""Token classification: a tag for each word, such as named entities."""

from burnish.tasks.token_classification.task import TokenClassification

__all__ = ["TokenClassification"]
