#!/bin/sh
# python_with.sh MODULE: prints the first known Python that has it: TANDEM_PEERS_PYTHON, .peers/python of the checkout,
# python3. Without one it says so and exits with 77, "skipped" for ctest.
for python in "${TANDEM_PEERS_PYTHON:-}" "$(dirname "$0")/../.peers/python" python3; do
  if [ -n "$python" ] && "$python" -c "import $1" 2>/dev/null; then
    echo "$python"
    exit
  fi
done
echo "SKIPPED: neither TANDEM_PEERS_PYTHON nor .peers/python nor python3 is a Python that has $1" >&2
exit 77
