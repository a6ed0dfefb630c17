"""`lock`: keeps which bits a training gives in a file of the project."""
