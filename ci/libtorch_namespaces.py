#!/usr/bin/env python3
"""Writes libtorch/torch/namespaces.h: the namespaces torch, at and c10, with a using-declaration for each public name.

usage: libtorch_namespaces.py INCLUDE           writes the header; INCLUDE: the folder of LibTorch's headers in a build
                                                (build/release/libtorch)
       libtorch_namespaces.py INCLUDE --check   fails if the header lacks a name of today, or has another one

The names are those that <torch/torch.h> declares in tandem and its namespaces. Needs clang-check and clang++."""
import collections
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEADER = "libtorch/torch/namespaces.h"
# Namespaces that a program can reopen below torch. All others are aliases.
REOPENED = ["autograd", "cuda", "data", "data::datasets", "data::samplers", "data::transforms", "distributed", "indexing",
            "linalg", "nn", "nn::functional", "nn::init", "nn::parallel", "nn::utils", "nn::utils::rnn", "optim", "serialize",
            "special"]
TOP = """// The namespaces torch, at and c10. Each has a using-declaration for every public name of tandem, and torch has the
// namespaces below tandem, too. A program can therefore reopen them: `namespace torch::nn { ... }` adds the program's
// own declarations. (With a using-directive instead, `using namespace torch` would make `nn` ambiguous.)
// Written by ci/libtorch_namespaces.py; a check holds that no name is missing.
#pragma once

// clang-format off
"""


def clang(tool):
    """Returns the path of a tool beside clang-tidy."""
    tidy = subprocess.check_output(["which", "clang-tidy"], text=True).strip()
    return os.path.join(os.path.dirname(os.path.realpath(tidy)), tool)


def run(tool, arguments, program, include, accept_errors):
    with tempfile.TemporaryDirectory() as unit:
        os.symlink(ROOT, os.path.join(unit, "tandem"))
        path = os.path.join(unit, "unit.cpp")
        with open(path, "w", encoding="utf8") as file:
            file.write(program)
        flags = ["-std=c++20", "-DTANDEM_WITHOUT_TORCH_NAMESPACES", "-I" + unit, "-I" + include]
        order = [*arguments, path, "--", *flags] if tool == "clang-check" else [*arguments, *flags, path]
        done = subprocess.run([clang(tool), *order], capture_output=True, text=True)
        if done.returncode and not accept_errors:
            sys.exit(done.stderr)
        return done.stdout + done.stderr


def declared(include):
    """Returns {namespace below tandem, "" for tandem itself: its names}, and the set of all namespaces directly in those."""
    everything = run("clang-check", ["-ast-list", "-ast-dump-filter=tandem::"], "#include <torch/torch.h>\n", include, False)
    everything = everything.replace("tandem::qualified::", "tandem::")  # a using-directive makes them names of tandem
    names = set(re.findall(r"^tandem::((?:[a-z_0-9]+::)*[A-Za-z_][A-Za-z_0-9]*)$", everything, re.M))
    names = sorted(n for n in names - {"qualified"} if n.rpartition("::")[0] in ["", *REOPENED])
    # The list also has template parameters and namespaces. The compiler says which lines name those.
    program = "#include <torch/torch.h>\nnamespace candidates {\n#line 1 \"names\"\n"
    for i, name in enumerate(names):
        program += f"namespace n{i} {{ using tandem::{name}; }}\n"
    errors = run("clang++", ["-fsyntax-only", "-ferror-limit=0", "-fno-caret-diagnostics"], program + "}\n", include, True)
    wrong = {int(line): text for line, text in re.findall(r"^names:(\d+):\d+: error: (.*)$", errors, re.M)}
    found, spaces = collections.defaultdict(list), []
    for i, name in enumerate(names, 1):
        if i not in wrong:
            space, _, last = name.rpartition("::")
            found[space].append(last)
        elif "namespace" in wrong[i] and "no member" not in wrong[i]:
            spaces.append(name)
    return found, spaces


def using(names):
    """Returns the lines of a macro's list of X(name), at most 120 characters each."""
    lines, line = [], " "
    for name in names:
        if len(line) + len(name) + 4 > 117:
            lines.append(line)
            line = " "
        line += f" X({name})"
    return " \\\n".join([*lines, line])


def members(space):
    return "TANDEM_NAMES_" + (space.replace("::", "_") or "root")


def header(include):
    found, spaces = declared(include)
    text = TOP
    for space in ["", *REOPENED]:
        text += f"#define {members(space)}(X) \\\n{using(found[space])}\n"
    aliases = collections.defaultdict(list)
    for space in spaces:
        if space not in REOPENED:
            aliases[space.rpartition("::")[0]].append(space)
    text += "\nnamespace torch {\n"
    for space in ["", *REOPENED]:
        opened = space.split("::") if space else []
        inside = f"#define TANDEM_USING(name) using tandem::{space + '::' if space else ''}name;\n"
        inside += f"{members(space)}(TANDEM_USING)\n#undef TANDEM_USING\n"
        inside += "".join(f"namespace {alias.rpartition('::')[2]} = tandem::{alias};\n" for alias in aliases[space])
        text += f"namespace {space} {{\n{inside}}}\n" if opened else inside
    text += "}  // namespace torch\n"
    for name in ["at", "c10"]:
        text += f"namespace {name} {{\n#define TANDEM_USING(name) using tandem::name;\n{members('')}(TANDEM_USING)\n#undef TANDEM_USING\n"
        text += "".join(f"namespace {alias} = tandem::{alias};\n" for alias in aliases[""])
        text += "".join(f"namespace {space} = tandem::{space};\n" for space in ["cuda", "indexing"])
        text += f"}}  // namespace {name}\n"
    text += "namespace c10d = tandem::distributed;\n"
    return text + "".join(f"#undef {members(space)}\n" for space in ["", *REOPENED]) + "// clang-format on\n"


if __name__ == "__main__":
    text = header(sys.argv[1])
    path = os.path.join(ROOT, HEADER)
    if "--check" not in sys.argv:
        with open(path, "w", encoding="utf8") as file:
            file.write(text)
    elif open(path, encoding="utf8").read() != text:
        sys.exit(f"{HEADER} does not have today's names; run ci/libtorch_namespaces.py")
