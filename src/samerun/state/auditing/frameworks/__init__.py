"""The frameworks whose checkpoints an audit knows, one file each."""
