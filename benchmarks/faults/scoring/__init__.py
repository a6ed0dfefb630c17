"""What the fault corpus is scored with."""
