#!/bin/sh
# Writes what --help prints, so that `./run demo --help` can show it before anything is built.
# usage: record.sh [BUILD]
set -eu
cd "$(dirname "$0")/../.."
tandem=${1:-build/release}/tools/tandem
"$tandem" --help >tools/help/tandem.txt
for command in demo compare explain bench launch flight trace simulate doctor; do "$tandem" "$command" --help >"tools/help/$command.txt"; done
