"""`samerun resume`: a run is killed, resumed, and compared with the one that was never stopped."""
