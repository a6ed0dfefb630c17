"""`samerun rerun`: a recorded run's command once more, given what its sources gave it then."""
