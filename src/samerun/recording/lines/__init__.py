"""What the variables of the user's code hold, line by line, for runs that differ for unknown reasons."""
