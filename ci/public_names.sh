#!/usr/bin/env bash
# public_names.sh: prints the public names, one a line: all names that tandem.h, models/ and train/train.h declare in tandem
# and its namespaces, without `detail`. (Clang also lists the parameters of alias templates.) Exits with 3 if there is
# no clang-check, which comes with clang-tidy.
set -euo pipefail
cd "$(dirname "$0")/.."
tidy=$(command -v clang-tidy) || exit 3
check=$(dirname "$(readlink -f "$tidy")")/clang-check
[ -x "$check" ] || exit 3

unit=$(mktemp -d)
trap 'rm -rf "$unit"' EXIT
ln -s "$PWD" "$unit/tandem"
printf '#include "tandem/%s"\n' tandem.h models/models.h models/language_modeling.h models/text_classification.h train/train.h >"$unit/unit.cpp"
"$check" -ast-list -ast-dump-filter=tandem:: "$unit/unit.cpp" -- -std=c++20 -I"$unit" >"$unit/names"
namespaces='amp|autocast|autograd(::graph)?|cuda|data(::(datasets|example|samplers|transforms(::functional)?))?|distributed|indexing|linalg'
namespaces+='|logs|metrics|models|nn(::(functional|init|parallel|utils(::rnn)?))?|optim|serialize|special|text|train'
sed -i 's/^tandem::qualified::/tandem::/' "$unit/names"  # found under these names by a using-directive
grep -E "^tandem::(($namespaces)::)?[A-Za-z_][A-Za-z_0-9]*$" "$unit/names" | grep -vE '::(detail|qualified)$' | LC_ALL=C sort -u
