"""samerun.ops can be installed where torch gives back the kernels that are replaced, from 2.11 on."""

from samerun import ops

collect_ignore_glob = [] if ops.available() else ["test_*.py"]
