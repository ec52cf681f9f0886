#!/usr/bin/env bash
# check.sh FAMILY EXPECTED: runs each program of the executable FAMILY, and compares its output with the file of the
# same name in the folder EXPECTED. Shows the first differing lines, and finally lists the programs that failed.
set -uo pipefail
failed=()
programs=$("$1") || exit 1
for program in $programs; do
  printed=$(mktemp)
  "$1" "$program" | sed "s/program_$program:://g" >"$printed"  # removes the namespace that surrounds each program
  status=${PIPESTATUS[0]}
  difference=$(diff "$2/$program.txt" "$printed") && [ $status = 0 ] || {
    failed+=("$program")
    printf '%s (exit status %s), expected < and printed >:\n%s\n' "$program" $status "$(head -20 <<<"$difference")"
  }
  rm "$printed"
done
[ ${#failed[@]} = 0 ] || {
  echo "these programs differ from LibTorch's output: ${failed[*]}"
  exit 1
}
