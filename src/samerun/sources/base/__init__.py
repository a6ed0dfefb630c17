"""What sources of one kind share."""
