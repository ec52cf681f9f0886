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
  {  # writes the unit
    # Programs of one file get a namespace each, because they share names. Their headers are included before.
    [[ $* != *examples/* ]] || grep -hE '^#include' "$@" | LC_ALL=C sort -u
    for file in "$@"; do
      case $file in
        examples/*) printf 'namespace of_%s {\n#include "%s"  // NOLINT\n}\n' "$(basename "$file" .cpp)" "$PWD/$file" ;;
        *) printf '#include "%s"  // NOLINT\n' "$PWD/$file" ;;
      esac
    done
  } >"$unit/unit.cpp"
  mapfile -t flags < <(python3 -c '
import json, shlex, sys
files = set(sys.argv[2:])
commands = [shlex.split(c["command"]) for c in json.load(open(sys.argv[1] + "/compile_commands.json")) if c["file"] in files]
print(*sorted({"-isystem" + c[i + 1] if w == "-isystem" else w for c in commands for i, w in enumerate(c)
               if w == "-isystem" or w[:2] in ("-D", "-I", "-f", "-W") or w.startswith("-std=")}), sep="\n")
' "$build" "${@/#/$PWD/}")
  if clang-tidy -quiet --config-file=.clang-tidy "$unit/unit.cpp" -- "${flags[@]}" >"$unit/findings" 2>/dev/null; then return; fi
  # Says why a check takes longer, because nothing else shows it.
  grep -m1 clang-diagnostic-error "$unit/findings" | sed "s|^|$# files do not compile as one unit, so halves are checked: |" >&2 || true
  local status=0
  check "${@:1:half}" || status=1
  check "${@:half+1}" || status=1
  return $status
}
check "$@"
