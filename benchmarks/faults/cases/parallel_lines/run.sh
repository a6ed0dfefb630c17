#!/usr/bin/env bash
# counts letters of each file, four at a time
set -euo pipefail
rm -rf work && mkdir -p work
awk 'BEGIN { for (i = 0; i < 60; i++) { f = sprintf("work/page%02d.txt", i); n = 40 + (i * 37) % 900
  for (k = 0; k < n; k++) printf "%c", 97 + (k * k + i * k + (i % 3) * 5) % 26 > f; close(f) } }'
ls work/*.txt | xargs -P 4 -n 1 ./count.sh >> work/features.csv  # fault: input-data
python fit.py work/features.csv  # fault: input-data
