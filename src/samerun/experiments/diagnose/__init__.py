"""`samerun diagnose`: one cause after the other, until the runs agree, and a patch."""
