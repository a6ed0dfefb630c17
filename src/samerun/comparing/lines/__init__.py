"""Where a value of the user's variables first differs between two runs, followed line by line."""
