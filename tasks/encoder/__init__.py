"""Sentence encoders and NLI models. The only importer of sentence_transformers and transformers. A leaf package."""

from tasks.encoder.encoder import Encoder, VectorStore, load_encoder, torch_device, unit_vectors

__all__ = ["Encoder", "VectorStore", "load_encoder", "torch_device", "unit_vectors"]
