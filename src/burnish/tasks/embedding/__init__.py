"""Embeddings by bi-encoders: retrieval and similarity."""

from burnish.tasks.embedding.task import Retrieval, Similarity

__all__ = ["Retrieval", "Similarity"]
