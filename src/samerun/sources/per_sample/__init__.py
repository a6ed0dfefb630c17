"""What a dataset draws is seeded by the sample, not by who fetches it."""
