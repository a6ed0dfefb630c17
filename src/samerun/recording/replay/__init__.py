"""One operation is run again, alone."""
