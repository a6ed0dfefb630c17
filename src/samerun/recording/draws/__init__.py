"""Which generators were drawn from, by whom."""
