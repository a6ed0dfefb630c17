#!/usr/bin/env bash
# teacher and student side by side; the student learns from whatever the teacher has saved so far
set -eu
rm -rf exchange && mkdir exchange
python teacher.py exchange/teacher.pt &
teacher=$!
python student.py exchange/teacher.pt
wait $teacher
