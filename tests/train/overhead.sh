#!/usr/bin/env bash
# overhead.sh PROGRAM CONFIG: checks that a training step under the Trainer takes at most 1 % more instructions than a step
# of a loop written by hand with the same loader. Exits with 77 if valgrind is not installed or the build is not optimized.
set -euo pipefail
command -v valgrind >/dev/null || { echo "SKIPPED: valgrind is not installed"; exit 77; }
[ "$2" = Release ] || { echo "SKIPPED: the build is not optimized"; exit 77; }
count() { # MODE STEPS: prints the number of instructions
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$1" "$2" 2>&1 >/dev/null |
    awk '/Collected/ { print $NF }'
}
program=$1
declare -A per_step
for mode in loop trainer; do per_step[$mode]=$((($(count $mode 20) - $(count $mode 10)) / 10)); done
echo "instructions of a step: loop ${per_step[loop]}, Trainer ${per_step[trainer]}"
[ $((per_step[trainer] * 100)) -le $((per_step[loop] * 101)) ]
