"""The waist: a run on disk. What records and what compares meet only here."""
