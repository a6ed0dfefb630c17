"""What a program asks the system for, function by function."""
