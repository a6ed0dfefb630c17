"""Where the runs of a study are carried out: here, or on a cluster."""
