#!/usr/bin/env python3
"""unpack_cuda.py WHEELS FOLDER: makes CUDA's wheels look like an installed toolkit: bin, include, lib64, nvvm.

A wheel keeps its files in nvidia/<part>/, has only versioned libraries (libcudnn.so.9) and forgets what is executable.
"""
import os
import pathlib
import re
import shutil
import sys
import zipfile


def unpack(wheel, root):
    with zipfile.ZipFile(wheel) as files:
        for name in files.namelist():
            inside = re.fullmatch(r"nvidia/[^/]+/(.+)", name)
            if not inside or name.endswith("/") or name.endswith("__init__.py"):
                continue
            to = root / inside[1]
            to.parent.mkdir(parents=True, exist_ok=True)
            with files.open(name) as source, open(to, "wb") as target:
                shutil.copyfileobj(source, target)


def main():
    wheels, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    root = folder.with_name(folder.name + ".new")  # renamed at the end, so an incomplete toolkit is never used
    shutil.rmtree(root, ignore_errors=True)
    for wheel in sorted(wheels.glob("*.whl")):
        unpack(wheel, root)
    for programs in (root / "bin", root / "nvvm" / "bin"):
        for program in programs.iterdir():
            if program.is_file():
                program.chmod(0o755)
    for library in (root / "lib").glob("lib*.so.*"):
        plain = library.with_name(library.name.split(".so.")[0] + ".so")
        if not plain.exists():
            plain.symlink_to(library.name)
    (root / "lib64").symlink_to("lib")
    shutil.rmtree(folder, ignore_errors=True)
    os.rename(root, folder)


if __name__ == "__main__":
    main()
