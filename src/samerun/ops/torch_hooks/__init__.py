"""Where the implementations are put into torch."""
