#!/usr/bin/env bash
# tidy.sh BUILD FILES...: runs clang-tidy with the flags of the configured folder BUILD. Headers take most of its time,
# so the files are checked as one unit. If the unit has findings, or does not compile because two files have a helper of
# the same name, each half is checked, down to single files, whose findings are printed.
set -euo pipefail
build=$1
shift
unit=$(mktemp -d)
trap 'rm -rf "$unit"' EXIT

check() { # FILES
  local file flags half=$(($# / 2))
  if [ $# = 1 ]; then
    clang-tidy -quiet --config-file=.clang-tidy -p "$build" "$1" 2>/dev/null
    return
  fi
  for file in "$@"; do  # renames the main functions of examples and tools
    printf '#define main main_of_%s\n#include "%s"  // NOLINT\n#undef main\n' "$(basename "$file" .cpp)" "$PWD/$file"
  done >"$unit/unit.cpp"
  mapfile -t flags < <(for file in "$@"; do grep -m1 -F " -c $PWD/$file\"" "$build/compile_commands.json"; done |
    grep -oE -- ' -(D|I|isystem |std=|f|W)[^ "]+' | sed -E 's/^ //; s/^-isystem /-isystem/' | sort -u)
  if clang-tidy -quiet --config-file=.clang-tidy "$unit/unit.cpp" -- "${flags[@]}" >/dev/null 2>&1; then return; fi
  local status=0
  check "${@:1:half}" || status=1
  check "${@:half+1}" || status=1
  return $status
}
check "$@"
