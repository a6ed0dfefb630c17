"""Two runs side by side: align their traces, find where they diverge, and report what is known there."""
