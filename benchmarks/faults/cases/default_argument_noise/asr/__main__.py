import sys

from asr.cli import main

sys.exit(main(sys.argv[1:]))
