"""What other code may change without moving a bit: names, orders, and what is a module."""
