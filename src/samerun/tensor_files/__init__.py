"""Checkpoints and files of tensors, read chunk by chunk and without torch: nothing in them is run."""
