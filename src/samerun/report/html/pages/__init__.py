"""The pages of experiments, one file a verb."""
