#!/usr/bin/env bash
# Tests the exit status of `tandem bench --baseline` against a build that is always faster. Only overhead rows affect
# it.
set -euo pipefail
tandem=$1 folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# A fake build: lists Tandem's benchmarks, and reports a picosecond for every case.
cat >"$folder/faster" <<END
#!/bin/sh
[ "\$2" = --list ] && exec "$tandem" bench --list
while [ \$# -gt 1 ]; do
  [ "\$1" = --json ] && file=\$2
  [ "\$1" = --case ] && asked=\$2
  shift
done
echo "{\"programs\": [{\"version\": \"1\"}], \"build\": {\"commit\": \"\"}, \"benchmarks\":
  [{\"name\": \"\$asked\", \"results\": {\"tandem\": {\"median_ms\": 1e-9}}}]}" >"\$file"
END
chmod +x "$folder/faster"
status_of() {  # CASE...: exit status of a bench run with these cases
  local cases=() status=0
  for each in "$@"; do cases+=(--case "$each"); done
  "$tandem" bench "${cases[@]}" --repeats 6 --seconds 0.001 --baseline "$folder/faster" >"$folder/said" 2>&1 || status=$?
  echo "$status"
}
fail() { echo "$1" >&2; cat "$folder/said" >&2; exit 1; }
status=$(status_of "add/broadcast_row 64x64,64")
[ "$status" = 0 ] || fail "a slower row that is no overhead gives status $status; expected 0"
grep -q "slower$" "$folder/said" || fail "the row is not called slower"
status=$(status_of "add/overhead 16" "add/overhead_grad 16" "add/broadcast_row 64x64,64")
[ "$status" = 1 ] || fail "two slower rows of overhead and one other give status $status; expected 1"
grep -q "2 overhead benchmark(s) are slower" "$folder/said" || fail "the slower rows are not counted"
