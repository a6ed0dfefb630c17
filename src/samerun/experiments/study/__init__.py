"""`samerun study`: how much of a metric is due to chance, by source."""
