#!/usr/bin/env bash
# commands.sh SOURCE BUILD DIGITS: runs the commands shown in README.md and docs/*.md, with the programs of BUILD and
# small data files in MNIST's format. It does not run ./run and cmake, which build the project: CI and tests/install do
# that. A comment before a block gives the reason why other commands are not run:
#   <!-- not run: REASON -->
# For commands that are not run, and for commands in the text, it checks that their jobs, subcommands and options exist.
set -euo pipefail
source=$1 build=$2 digits=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PATH="$build/tools:$build/tests:$build/examples:$PATH"
ln -s "$source/benchmarks" "$work/benchmarks"
cp "$source/benchmarks/data/cluster_example.json" "$work/my_cluster.json"
cd "$work"
failed=0

# Prints PAGE:LINE <tab> run, look or text <tab> COMMAND for each command: lines of code blocks that begin with the name
# of a program, and text between backquotes that begins with ./run or tandem.
list() {
  (cd "$source" && awk -v programs="$(ls "$build/tools" "$build/tests" "$build/examples" | tr '\n' ' ')" '
    BEGIN {
      n = split(programs, names, " ")
      for (i = 1; i <= n; ++i) is_program[names[i]] = 1
      is_program["./run"] = is_program["cmake"] = is_program["git"] = 1
    }
    function is_command(line, words) {
      split(line, words, " ")
      return (words[1] in is_program) || words[1] ~ /^(build|\.\/build)\/[a-z]/
    }
    FNR == 1 { mark = ""; fenced = 0 }
    /^ *<!-- .* -->$/ { mark = $0 ~ /not run: ./ ? "look" : ""; next }
    /^```/ {
      fenced = !fenced
      plain = $0 ~ /^```(sh)?$/
      if (!fenced) mark = ""
      next
    }
    (fenced && plain) || (!fenced && /^    [^ ]/) {
      line = $0
      sub(/^ */, "", line)
      sub(/  +#.*/, "", line)
      if (is_command(line)) print FILENAME ":" FNR "\t" (mark || line ~ /^(\.\/run|cmake) / ? "look" : "run") "\t" line
      next
    }
    !fenced && /^[^ ]/ {
      mark = ""
      rest = $0
      while (match(rest, /`(\.\/run|tandem) [^`]*`/)) {
        print FILENAME ":" FNR "\ttext\t" substr(rest, RSTART + 1, RLENGTH - 2)
        rest = substr(rest, RSTART + RLENGTH)
      }
    }' README.md CONTRIBUTING.md $(cd "$source" && ls docs/*.md | grep -v libtorch_names))
}

"$source/run" help >run.help
# look PAGE:LINE COMMAND: checks that the job or subcommand of COMMAND and its options exist.
look() {
  local place=$1 word options=() help
  shift
  case $1 in
    ./run)
      [ "${2:-}" != --help ] || return 0
      grep -q "^./run ${2:-}\b" run.help || { echo "$place: ./run has no job '$2'"; return 1; }
      help="$(cat run.help)"
      case $2 in demo | compare | bench | doctor) help+=$(tandem "$2" --help) ;; differential | faults) return 0 ;; esac ;;
    tandem | build/*/tools/tandem)
      help=$(tandem "$2" --help) || { echo "$place: tandem has no subcommand '$2'"; return 1; } ;;
    *) return 0 ;;
  esac
  for word in "${@:3}"; do
    [ "$word" != -- ] || break
    case $word in
      --*) word=${word%%=*}
        grep -q -e "$word\b" <<<"$help" || { echo "$place: '$1 $2' has no option $word"; return 1; } ;;
    esac
  done
}
while IFS=$'\t' read -r place how command; do
  if [ "$how" != run ]; then
    read -ra words <<<"$command"
    look "$place" "${words[@]}" || failed=1
    continue
  fi
  command=$(sed -E "s#(^|[ ])build/[a-z]+/(tools|examples|tests)/#\1$build/\2/#g; s#FOLDER#$digits#" <<<"$command")
  start=$SECONDS
  if ! timeout 120 bash -c "$command" >output 2>&1 </dev/null; then
    echo "$place: failed: $command"
    cat output
    failed=1
  fi
  echo "$place: $((SECONDS - start)) s: $command"
done < <(list)
exit $failed
