"""`verify`: runs a locked command again and compares with its lock."""
