"""Embeddings by bi-encoders: retrieval and similarity."""

from burnish.tasks.embedding.retrieval import Retrieval
from burnish.tasks.embedding.similarity import Similarity

__all__ = ["Retrieval", "Similarity"]
