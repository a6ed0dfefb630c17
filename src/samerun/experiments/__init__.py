"""What is done with runs: each verb's loop. Nothing here prints."""
