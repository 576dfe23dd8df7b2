"""Evaluation of an embedding: quality, stability, and the choice of its parameters."""
