"""A tiny hyperparameter study around one model."""
