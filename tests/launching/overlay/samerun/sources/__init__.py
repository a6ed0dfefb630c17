import os

__path__.append(os.environ["REAL_SAMERUN"] + "/sources")
