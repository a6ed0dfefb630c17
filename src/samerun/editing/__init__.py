"""The user's code: read without running it, and edited as text, so that only what must change does."""
