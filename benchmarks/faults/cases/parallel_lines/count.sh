#!/usr/bin/env bash
# a line: the name, then how often each letter occurs
name=$(basename "$1" .txt)
fold -w1 "$1" | sort | uniq -c | awk -v name="$name" '{ n[$2] = $1 } END { printf "%s", name
  for (c = 97; c < 123; c++) printf ",%d", n[sprintf("%c", c)]; print "" }'
