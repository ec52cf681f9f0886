#!/usr/bin/env python3
"""Which file defines each public name, and whether the files say what they are for.

usage: files.py           prints "NAME  FILE..." for each public function: the sources that define it
       files.py --check   prints what is wrong with the order of the files, and fails if anything is:
  - a function that x.h declares is defined in x.cpp of the same folder
  - a folder has more than 45 files
  - a file does not begin with a comment that says what it is for
  - a comment names a file that does not exist
  - two places define one macro
  - a public operation has no cast policy (TANDEM_CAST_POLICY, core/cast_policy.h) in the source that defines it, or two;
    or no test calls an operation with a policy under autocast
Needs universal-ctags."""
import collections
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDERS = "core kernels autograd ops nn optim data serialize logs parallel train models".split()
PAIRED = ("ops", "nn", "optim", "data")  # in other folders a header may have several sources, by subject or platform
# These headers declare internal functions that are defined beside their operation: gradients, and functions of the
# engine.
GATHERED = ("ops/backward", "autograd/ops")
MOST_FILES = 45


def tracked(*patterns):
    out = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, text=True, capture_output=True, check=True).stdout
    return [f for f in out.split("\n") if f and os.path.exists(os.path.join(ROOT, f))]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf8") as file:
        return file.read()


def tags():
    """Yields (kind, scope, name, file, result type) of functions. Kind p: a prototype in a header; f: a definition."""
    files = [f for f in tracked(*FOLDERS) if f.endswith((".h", ".cpp", ".cu"))]
    command = ["ctags", "--languages=C++", "--langmap=C++:.h.cpp.cu", "--kinds-C++=fp", "--fields=kst", "-f", "-",
               "-I", "TANDEM_API", "-L", "-"]
    out = subprocess.run(command, cwd=ROOT, text=True, input="\n".join(files), capture_output=True, check=True).stdout
    for line in out.split("\n"):
        parts = line.split("\t")
        if len(parts) < 4 or parts[0].startswith(("operator", "__anon", "TANDEM_")):
            continue
        scope = next((p.split(":", 1)[1] for p in parts[4:] if p.startswith(("class:", "struct:", "namespace:"))), "")
        yield parts[3], scope, parts[0], parts[1], next((p for p in parts[4:] if p.startswith("typeref:")), "")


def definitions():
    """Returns {name: sources that define a function of that name outside of unnamed namespaces}."""
    where = collections.defaultdict(set)
    for kind, scope, name, file, _ in tags():
        if kind == "f" and "__anon" not in scope and file.endswith((".cpp", ".cu")):
            where[name].add(file)
    return where


def public_names():
    return sorted({line.strip().split("::")[-1] for line in read("ci/public_names.txt").split("\n") if line.strip()})


def wrong_pairs():
    declared, defined = collections.defaultdict(set), collections.defaultdict(set)
    for kind, scope, name, file, _ in tags():
        if "__anon" in scope or file.split("/")[0] not in PAIRED:
            continue
        key = (scope.split("::")[-1].replace("detail", "tandem"), name)
        if kind == "p" and file.endswith(".h"):
            declared[key].add(os.path.splitext(file)[0])
        elif kind == "f" and file.endswith(".cpp"):
            defined[key].add(os.path.splitext(file)[0])
    for key in sorted(declared.keys() & defined.keys()):
        if declared[key] & set(GATHERED):
            continue
        for source in sorted(defined[key] - declared[key]):
            headers = " and ".join(f"{header}.h" for header in sorted(declared[key]))
            yield f"{source}.cpp defines {'::'.join(filter(None, key))}, which {headers} declares"


def too_many_files():
    count = collections.Counter(os.path.dirname(f) for f in tracked())
    for folder, n in sorted(count.items()):
        if n > MOST_FILES and not folder.startswith("tests/fixtures"):
            yield f"{folder} has {n} files; accepted: {MOST_FILES}"


def without_a_first_line(files):
    for file in files:
        if not read(file).startswith("//"):
            yield f"{file} does not begin with a comment that says what it is for"


def comments(text):
    """Yields the comments of a source, each joined into one line."""
    for block in re.findall(r"(?:[ \t]*//[^\n]*\n)+|//[^\n]*", text):
        yield re.sub(r"\s*\n\s*//+\s?", " ", block)


def absent_files(files):
    """Yields comments that name a missing file, by its path from the root or from the source's folder."""
    known = set(tracked())
    for file in files:
        for comment in comments(read(file)):
            for name in re.findall(r"(?<![\w/.<*-])[a-z0-9_]+(?:/[a-z0-9_]+)*\.(?:h|cpp|cu|cuh|md|py|sh)\b", comment):
                if name in known or os.path.normpath(os.path.join(os.path.dirname(file), name)) in known:
                    continue
                yield f"a comment of {file} names {name}, which does not exist"


def macros_defined_twice(files):
    """Yields macros that are defined in two places, unless #if chooses one of them."""
    where = collections.defaultdict(list)
    for file in files:
        depth = 0
        for line in read(file).split("\n"):
            depth += line.startswith(("#if", "#ifdef", "#ifndef")) - line.startswith("#endif")
            if found := re.match(r"#define (\w+)", line):
                where[found[1]].append((file, depth))
    for name, places in sorted(where.items()):
        if sum(depth == 0 for _, depth in places) > 1:
            files = collections.Counter(file for file, _ in places)
            yield f"{name} is defined {len(places)} times: {', '.join(f'{f} ({n})' for f, n in sorted(files.items()))}"


ROOMS = [f"ops/{room}" for room in "elementwise reduce index shape products linalg nn loss".split()]


def operations():
    """Returns {name: source} of the public functions and methods that return tensors, without in-place and out forms,
    and of the differentiable elementwise operations. A source uses a list of core/elementwise_ops.h by its name."""
    names = set(public_names())
    found = {}
    for kind, scope, name, file, result in tags():
        public = scope == "tandem::Tensor" or scope in ("tandem", "tandem::qualified", "qualified") and name in names
        defined = kind == "f" and file.endswith(".cpp") and os.path.dirname(file) in ROOMS
        if defined and public and "Tensor" in result and not name.endswith(("_", "_out")):
            found[name] = file
    lists = dict(re.findall(r"#define (TANDEM_\w+_OPS)\(X\)(.*?)\n(?! )", read("core/elementwise_ops.h"), re.S))
    for file in tracked(*(f"{room}/*.cpp" for room in ROOMS)):
        for macro, name in re.findall(r"^(TANDEM_\w+)\((\w+)[,)]", read(file), re.M):
            if re.match("TANDEM_DIFFERENTIABLE_.*_LINE", name):
                found.update((each, file) for each in re.findall(r"X\((\w+),", lists[macro]))
            elif name in names and macro != "TANDEM_CAST_POLICY":
                found[name] = file
    return found


def wrong_cast_policies():
    named = collections.defaultdict(list)
    for file in tracked(*(f"{room}/*.cpp" for room in ROOMS)):
        for names in re.findall(r"^TANDEM_CAST_POLICY\(\w+, ([^)]*)\)", read(file), re.M):
            for name in re.split(r",\s*", names):
                named[name].append(file)
    known = operations()
    for name, file in sorted(known.items()):
        if named[name] != [file]:
            yield f"{name} of {file} has cast policies in {named[name]}; accepted: exactly one, in that file"
    for name in sorted(named.keys() - known.keys()):
        yield f"{named[name][0]} names a cast policy of {name}, which is not a public operation that returns tensors"


def untested_cast_policies():
    rows = {row["name"].split("/")[0] for row in json.loads(read("tests/fixtures/autocast.json"))["cases"]}
    tests = read("tests/autocast/autocast_test.cpp")
    refused = {"linalg_eig", "linalg_eigvals"}  # they always throw
    for file in tracked(*(f"{room}/*.cpp" for room in ROOMS)):
        for names in re.findall(r"^TANDEM_CAST_POLICY\((?:lower|float32|promote), ([^)]*)\)", read(file), re.M):
            for name in sorted(set(re.split(r",\s*", names)) - rows - refused):
                if f"{name}(" not in tests:
                    yield f"no test calls {name} of {file} under autocast; tests/fixtures/autocast.json has no row of it"


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sources = definitions()
        for public in public_names():
            if sources[public]:
                print(f"{public:40} {' '.join(sorted(sources[public]))}")
    else:
        code = [f for f in tracked(*FOLDERS, "emulation", "tools") if f.endswith((".h", ".cpp", ".cu", ".cuh"))]
        wrong = [*wrong_pairs(), *too_many_files(), *without_a_first_line(code), *absent_files(code),
                 *macros_defined_twice(code), *wrong_cast_policies(), *untested_cast_policies()]
        print("\n".join(wrong))
        sys.exit(1 if wrong else 0)
