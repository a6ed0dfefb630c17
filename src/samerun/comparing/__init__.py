"""Two runs side by side: align their traces, find where they part, and say what is known there."""
