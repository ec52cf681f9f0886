#!/usr/bin/env bash
# tidy.sh BUILD FILES...: clang-tidy with the flags of the configured folder BUILD. Headers take most of its time, so the
# files are checked as one unit; where they do not go together (two have a helper of the same name) one by one.
set -euo pipefail
build=$1
shift
tidy() { clang-tidy -quiet --config-file=.clang-tidy "$@" 2>/dev/null; }

unit=$(mktemp -d)
trap 'rm -rf "$unit"' EXIT
for file in "$@"; do  # examples and tools have a main function each
  printf '#define main main_of_%s\n#include "%s"  // NOLINT\n#undef main\n' "$(basename "$file" .cpp)" "$PWD/$file"
done >"$unit/unit.cpp"
mapfile -t flags < <(for file in "$@"; do grep -m1 -F " -c $PWD/$file\"" "$build/compile_commands.json"; done |
  grep -oE -- ' -(D|I|isystem |std=|f|W)[^ "]+' | sed -E 's/^ //; s/^-isystem /-isystem/' | sort -u)
tidy "$unit/unit.cpp" -- "${flags[@]}" >/dev/null && exit

failed=0
for file in "$@"; do tidy -p "$build" "$file" || failed=1; done
exit $failed
