"""`samerun vary`: one source at a time is changed on purpose."""
