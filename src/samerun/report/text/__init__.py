"""Results as text for a terminal: one file a verb, and what they share."""
