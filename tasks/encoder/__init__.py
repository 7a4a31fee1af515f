"""Sentence encoders: texts in, vectors out. The only importer of sentence_transformers and transformers. A leaf."""

from tasks.encoder.encoder import Encoder, load_encoder
from tasks.encoder.store import VectorStore

__all__ = ["Encoder", "VectorStore", "load_encoder"]
