"""What the implementations compute with."""
