"""What a project keeps of the command line, and where its runs are."""
