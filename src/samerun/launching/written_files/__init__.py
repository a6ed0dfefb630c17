"""What a run wrote into files, read by value when it has ended. Nothing in a file is run."""
