#!/bin/sh
# Records the help texts of the commands, so that `./run demo --help` can show one before anything is built.
# usage: record.sh [BUILD]
set -eu
cd "$(dirname "$0")/../.."
tandem=${1:-build/release}/tools/tandem
"$tandem" --help >tools/help/tandem.txt
for command in $(sed -nE '/^commands:/,/^$/s/^  ([a-z]+) .*/\1/p' tools/help/tandem.txt); do
  "$tandem" "$command" --help >"tools/help/$command.txt"
done
