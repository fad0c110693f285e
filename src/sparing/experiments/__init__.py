"""The papers' experiments, each a function."""
