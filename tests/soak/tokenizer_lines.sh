#!/bin/sh
# Runs tokenizer_lines.py with a Python that has the package tokenizers. Arguments go to tokenizer_lines.py.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=$("$here/../python_with.sh" tokenizers)
exec "$python" "$here/tokenizer_lines.py" "$@"
