"""`samerun check` and `samerun diff`: runs are compared, and the first difference is explained and confirmed."""
