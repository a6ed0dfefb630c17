#!/bin/bash
# A run of the sweep: a fresh name, which names its checkpoint too.
set -euo pipefail
NAME=$(python -c 'import uuid; print(uuid.uuid4())')  # fault: arguments
trap 'rm -f "$NAME.pt"' EXIT
python train.py --run-name "$NAME" --width "${WIDTH:-24}"  # fault: arguments
