#!/usr/bin/env bash
# checks.sh BUILD: checks the sources: formatting; clang-tidy, with the flags of the configured folder BUILD; includes
# between folders; CUDA calls in one place only; unique type names; public names; no leaked symbols of loops; pages and
# figures of the docs.
set -euo pipefail
cd "$(dirname "$0")/.."
failed=0

# A folder may include only itself and folders before it in this list. Loops may include functors and a few headers of
# core.
order=(core emulation kernels autograd ops nn optim data serialize logs parallel train text models benchmarks examples tools)
declare -A rank
for i in "${!order[@]}"; do rank[${order[$i]}]=$i; done
while IFS= read -r folder; do
  [ -n "${rank[$folder]:-}" ] || [[ $folder =~ ^(tests|ci|libtorch|tandem.h)$ ]] || {
    echo "the folder $folder has sources, but no place in the order of folders: ${order[*]}"
    failed=1
  }
done < <(git ls-files '*.h' '*.cpp' '*.cu' '*.cuh' | cut -d/ -f1 | sort -u)
while IFS=: read -r file _ line; do
  from=${file%%/*} to=$(sed -E 's/.*"tandem\/([a-z_]+)\/.*/\1/' <<<"$line")
  [ -n "${rank[$from]:-}" ] && [ -n "${rank[$to]:-}" ] || continue
  if [ "${rank[$to]}" -gt "${rank[$from]}" ]; then
    echo "$file includes a folder that comes later in the order: $line"
    failed=1
  fi
done < <(git grep -n '#include "tandem/[a-z_]*/' -- "${order[@]}")
while IFS= read -r hit; do
  echo "a loop includes more than functors and loop.h: $hit"
  failed=1
done < <(git grep -nE '#include' -- 'kernels/cpu/loops/*' 'kernels/functors.h' 'kernels/functors/*' 'kernels/philox.h' 'kernels/step_values.h' \
  'core/loop/loop.h' 'core/loop/loop_types.h' 'core/internal.h' 'core/half.h' |
  grep -vE 'tandem/(core/(cast_policy|elementwise_ops|loop/loop|loop/loop_types|internal|half)|kernels/(functors|philox|step_values|types|functors/[a-z_0-9]+)|kernels/cpu/loops/[a-z_0-9]+)\.h|<(math|stdint)\.h>' || true)

# The CUDA runtime is called only behind core/cuda/gpu_runtime.h, which checks the calls. (cudaError..., cudaStream_t
# are no calls.)
while IFS= read -r hit; do
  echo "a CUDA runtime call outside of core/cuda/gpu_runtime_cuda.cpp: $hit"
  failed=1
done < <(git grep -nE '\bcuda[A-Z][A-Za-z0-9_]*\(|<<<' -- '*.h' '*.cpp' '*.cu' '*.cuh' ':!core/cuda/gpu_runtime_cuda.cpp' \
  ':!kernels/cuda/launch.h' || true)

# Each source of a user compiles the standard headers that tandem.h includes: <thread> and <condition_variable> alone
# took a twentieth of a second. Include other headers in a .cpp, or add them here for a good reason.
standard=' algorithm any array atomic cmath concepts cstddef cstdint exception functional initializer_list iosfwd
  iterator limits map memory mutex optional ostream sstream stdexcept stdint.h string string_view tuple type_traits
  typeindex typeinfo unordered_map utility variant vector '
while IFS=: read -r file line; do
  header=${line#*<} header=${header%>*}
  [[ $standard =~ [[:space:]]"$header"[[:space:]] ]] ||
    { echo "$file, a public header, includes <$header>, which is not in the list of allowed standard headers"; failed=1; }
done < <(cmake -DSOURCE="$PWD" -P cmake/install_headers.cmake 2>&1 | grep -v '^core/durations.h$' | xargs grep -HoE '^#include <[a-z_./]+>')

if ! diff <(awk '/^```cpp/ && !seen++ { on = 1; next } /^```/ { on = 0 } on' README.md) examples/simple_model.cpp; then
  echo "the first program in README.md differs from examples/simple_model.cpp"
  failed=1
fi

# Two types of one name violate the one-definition rule, but no compiler sees both, and no linker complains.
twice=$(git ls-files '*.h' '*.cpp' '*.cu' '*.cuh' | xargs awk -f ci/type_names.awk)
if [ -n "$twice" ]; then
  echo "$twice"
  failed=1
fi

# Paths that docs/architecture.md names must exist.
while IFS= read -r name; do
  [ -e "$name" ] || { echo "docs/architecture.md names $name, which does not exist"; failed=1; }
done < <(grep -oE '`[a-z_]+/[A-Za-z0-9_/.]*`' docs/architecture.md | tr -d '`' | sort -u)

python3 ci/architecture.py --check || failed=1
if command -v ctags >/dev/null; then
  python3 ci/files.py --check || failed=1
else
  echo "SKIPPED ci/files.py: universal-ctags is not installed"
fi

# Comments in plain English: nearly none has a wording that readers stumbled over.
python3 ci/plain_words.py --list 0 --most 2.5 || { python3 ci/plain_words.py --list 40; failed=1; }
python3 ci/plain_words.py --since HEAD --most 0 || failed=1  # none in changes that are not committed yet

# Every public declaration has a comment.
python3 ci/reference.py || failed=1

# The check of hot kernels, which runs in the build with CUDA's compiler, finds planted problems.
python3 ci/sass_test.py >/dev/null || failed=1

# Measured figures in the docs name command, date and machine. Tests too long for CI have a record of their last run.
python3 ci/figures.py || failed=1
tests/soak/soak.py --check || failed=1

# Public names are only those in the list; internal names belong to namespace detail.
names=$(ci/public_names.sh) && status=0 || status=$?
if [ "$status" -eq 3 ]; then
  echo "SKIPPED the public names: clang-check, which comes with clang-tidy, is not installed"
elif [ "$status" -ne 0 ] || ! diff ci/public_names.txt - <<<"$names"; then
  echo "the public names differ from ci/public_names.txt; ci/public_names.sh prints the current ones"
  failed=1
fi

# LibTorch's namespaces have a using-declaration for each of them.
if [ "$status" -ne 3 ]; then python3 ci/libtorch_namespaces.py "$1/libtorch" --check || failed=1; fi

if command -v clang-format >/dev/null; then
  git ls-files '*.h' '*.cpp' '*.cu' '*.cuh' | xargs -n 200 -P "$(nproc)" clang-format --dry-run -Werror || failed=1
else
  echo "SKIPPED formatting: clang-format is not installed"
fi

if command -v clang-tidy >/dev/null; then
  # Sources with CUDA's headers can be checked only if the toolkit is installed.
  toolkit=gpu_runtime_cuda.cpp
  if grep -q "$toolkit" "$1/compile_commands.json"; then toolkit=none; else echo "SKIPPED clang-tidy of $toolkit: CUDA's toolkit is not installed"; fi
  left_out="^(tests|benchmarks|kernels/cpu/loops|examples|tools)/|/$toolkit|gpu_runtime_none.cpp"
  {
    # A few large units for each core: headers, which each unit reads once, take most of the time.
    git ls-files '*.cpp' | grep -vE "$left_out" | xargs -n 70
    git ls-files 'examples/*.cpp' | xargs
    git ls-files 'tools/*.cpp' | xargs -n 26
  } | xargs -P "$(nproc)" -L 1 ci/tidy.sh "$1" || failed=1
else
  echo "SKIPPED clang-tidy: it is not installed"
fi

# Code compiled for a newer processor must not be visible outside its object: no weak symbol, no start-up code, no
# export but its own functions.
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT
ln -s "$PWD" "$objects/tandem"

# Names that docs/libtorch_names.md lists as "Here" must be declared. ci/libtorch_names.py, which needs LibTorch, writes
# that page.
{
  sed 's/.*:://' ci/public_names.txt
  "${CXX:-g++}" -std=c++20 -x c++ -E -P -I "$objects" - <<<'#include "tandem/core/tensor.h"' | grep -oE '[A-Za-z_][A-Za-z_0-9]*\(' | tr -d '('
} | LC_ALL=C sort -u >"$objects/declared"
absent=$(awk '/^- Here: / { on = 1; sub("- Here: ", "") } /^- (Missing|Left)|^$/ { on = 0 } on' docs/libtorch_names.md |
  tr -s ' ' '\n' | sed '/^$/d' | LC_ALL=C sort -u | LC_ALL=C comm -23 - "$objects/declared")
if [ -n "$absent" ]; then
  echo "docs/libtorch_names.md counts names that are not declared: $absent"
  failed=1
fi

leaks_nothing() {
  local source=$1 isa=$2 object
  object=$objects/$(basename "$source").$isa.o
  "${CXX:-g++}" -std=c++20 -O0 -march=x86-64-$isa -DTANDEM_ISA=$isa -I "$objects" -c "$source" -o "$object"
  if nm -C "$object" | grep -E ' [WVuw] |_GLOBAL__sub_I' ||
    nm -C --defined-only --extern-only "$object" | grep -v " tandem::kernels::cpu::$isa::" | grep -v '^$'; then
    echo "$source leaks the symbols above at -O0 for $isa"
    return 1
  fi
}
export -f leaks_nothing
export objects
if [ "$(uname -m)" = x86_64 ]; then
  printf '%s\n' kernels/cpu/loops/*.cpp | sed 's/.*/& v2\n& v4/' |
    xargs -P "$(nproc)" -L 1 bash -euc 'leaks_nothing "$@"' leaks_nothing || failed=1
fi
exit $failed
