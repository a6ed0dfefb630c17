#!/usr/bin/env bash
# sensor log -> half of the rows -> windows -> forecast
set -euo pipefail
rate=${RATE:-0.5}
mkdir -p out
awk 'BEGIN { for (t = 0; t < 900; t++) printf "%d,%.5f,%.5f\n", t, sin(t / 9) + 0.3 * sin(t / 2.3), cos(t / 31) }' > out/log.csv
awk -v rate="$rate" 'BEGIN { srand() } rand() < rate' out/log.csv > out/half.csv  # fault: input-data
python forecast.py --log out/half.csv --window 16
