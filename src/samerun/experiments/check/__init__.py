"""`samerun check` and `diff`: runs are compared; the first difference is explained and confirmed."""
