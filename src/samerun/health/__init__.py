"""Whether what one run drew is as random as it should be: notes, which never change a verdict."""
