#!/usr/bin/env python3
"""libtorch_names.py [TORCH_INCLUDE] > docs/libtorch_names.md: lists which public C++ names of LibTorch Tandem has.

Reads LibTorch's headers (by default those of the torch that this Python imports), ci/public_names.txt and the methods
that core/tensor.h and tensor_base.h declare, and ci/libtorch_refused.txt: lines `PATTERN REASON`, the first match counts.
With --missing it prints only names that are neither declared nor refused. ci/checks.sh compares the table with Tandem's
declarations. Afterwards ci/libtorch_forms.py adds the section "Overloads".
"""
import fnmatch
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def text_of(path):
    text = path.read_text(errors="replace")
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    return re.sub(r"//[^\n]*", "", text)


def named(pattern, paths):
    return {name for path in paths for name in re.findall(pattern, text_of(path), flags=re.M)}


def public(names):
    return {n for n in names if not n.startswith("_") or n == "_unique2"}


INLINE = r"^(?:template <[^\n]*>\n)?(?:inline|TORCH_API) [^\n(=;]*?[\s&*]([a-z]\w*)\s*\("
CLASS = r"^(?:class|struct) (?:TORCH_API )?([A-Z]\w*)[^;{]*\{"


def libtorch(include):
    """Returns the families: a title, the namespaces of Tandem to look in (None: methods of Tensor), and the names."""
    api = include / "torch/csrc/api/include/torch"
    body = text_of(include / "ATen/core/TensorBody.h") + text_of(include / "ATen/core/TensorBase.h")
    methods = set(re.findall(r"^  (?:inline |explicit |static |C10_NODISCARD )*[\w:&*<>, ]*?[\s&*>](\w+)\([^;{]*\)\s*"
                             r"(?:const)?[\s&]*(?:noexcept)?\s*[;{]", body, flags=re.M))
    internal = (r"(unsafe|legacy|operator|wrap_|if$|for$|while$|return$|~?Tensor|TORCH|decltype|is_non_over|ptr|"
                r"forward$|to_meta|print$|C10_|static_assert|fn$|func$|r$|globalDepr|typeMetaTo|debugBorrow)")
    methods = {m for m in methods if not re.match(internal, m)}
    ops = [p for p in (include / "ATen/ops").glob("*.h") if not re.search(r"_(ops|native|dispatch)\.h$", p.name)]
    functions = named(r"^(?:  )?inline [^\n(]*?[\s&>](\w+)\(", ops) | named(INLINE, [include / "ATen/Functions.h"])
    functions = {f for f in functions if not re.search(r"_outf$|_symint", f)}
    modules = sorted((api / "nn/modules").glob("*.h")) + sorted((api / "nn/modules/container").glob("*.h"))
    functionals = sorted((api / "nn/functional").glob("*.h"))
    options = sorted((api / "nn/options").glob("*.h"))
    utils = sorted((api / "nn/utils").glob("*.h"))
    optim = sorted((api / "optim").glob("**/*.h"))
    data = sorted((api / "data").glob("**/*.h"))
    autograd = [include / "torch/csrc/autograd" / n for n in ("autograd.h", "custom_function.h")]
    data_names = named(CLASS, data) | {"make_data_loader"}
    all_options = named(CLASS, options) | named(r"^using (\w+Options)\b", options)
    containers = named(r"^class (?:TORCH_API )?(Any\w+|\w*Dict|\w*List|Sequential)\b", modules)
    initial = named(r"^(?:TORCH_API )?[\w:<>, ]+\n?\s*\b(\w+_|calculate_gain)\(", [api / "nn/init.h"])
    autograd_names = named(CLASS, autograd) | named(r"^TORCH_API [\w:<>, ]+?\s([a-z]\w+)\(", autograd)
    optimizers = {n for n in named(CLASS, optim) if not n.startswith("OptimizerCloneable")}
    return [
        ("Layers", ["nn"], named(r"^TORCH_MODULE(?:_IMPL)?\((\w+)", modules) | containers),
        ("Options of layers", ["nn"], {n for n in all_options if re.search(r"(?<!Func)Options$", n)}),
        ("Options of functionals", ["nn::functional"], {n for n in all_options if n.endswith("FuncOptions")}),
        ("Functionals", ["nn::functional"], public(named(INLINE, functionals))),
        ("Initialisation", ["nn::init"], public(initial)),
        ("Utilities of layers", ["nn::utils", "nn::utils::rnn"], public(named(INLINE, utils) | named(CLASS, utils))),
        ("Optimizers and schedules", ["optim"], optimizers),
        ("Data", ["data", "data::datasets", "data::samplers", "data::transforms"], data_names),
        ("Autograd", ["autograd"], autograd_names),
        ("torch::special", ["special"], public(named(INLINE, [api / "special.h"]))),
        ("Functions", [""], public(functions)),
        ("Methods of Tensor", None, public(methods)),
    ]


def tandem_methods():
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "tandem").symlink_to(ROOT)
        text = subprocess.run(["g++", "-std=c++20", "-E", "-P", "-I", folder, str(ROOT / "core/tensor.h")],
                              check=True, capture_output=True, text=True).stdout
    body = text[text.index("class TensorBase {"):]
    body = body[:body.index("std::ostream& operator<<")]
    return set(re.findall(r"(?<![.>(!?,\w])(?<!return )\b([A-Za-z_]\w*)\s*\(", body))  # excludes most calls


def print_table(lines, summary, total_here, total):
    print(f"""# LibTorch's names

Tandem has {total_here} of {total} public C++ names of LibTorch 2.15, or {100 * total_here / total:.1f} %. This page lists
them family by family. Names that are left out for a stated reason are not counted. A name counts as "here" if Tandem declares
it, even if some of LibTorch's overloads are missing: the [last section](#overloads) counts overloads, and
[libtorch.md](libtorch.md) says what differs. The `_outf` spellings, which only change the order of arguments, are not counted.
`ci/libtorch_names.py` writes this file from LibTorch's headers; `ci/checks.sh` compares it with Tandem's declarations.

| family | here | missing | left out |
|---|---|---|---|""")
    for family, here, missing, out in summary:
        print(f"| {family} | {here} | {missing} | {out} |")
    for family, spaces, here, missing, out in lines:
        print(f"\n## {family}\n")
        for title, names in [("Here", here), ("Missing", missing), *((f"Left out: {r}", n) for r, n in out.items())]:
            if names:
                print(textwrap.fill(f"{title}: " + " ".join(names), 120, subsequent_indent="  ", initial_indent="- ",
                                    break_long_words=False, break_on_hyphens=False))


def main():
    arguments = [a for a in sys.argv[1:] if a != "--missing"]
    if arguments:
        include = Path(arguments[0])
    else:
        import torch
        include = Path(torch.__file__).parent / "include"
    have = set((ROOT / "ci/public_names.txt").read_text().split())
    methods = tandem_methods()
    refused = [line.split(None, 1) for line in (ROOT / "ci/libtorch_refused.txt").read_text().splitlines()
               if line.strip() and not line.startswith("#")]
    lines, summary, total_here, total = [], [], 0, 0
    for family, spaces, names in libtorch(include):
        here, missing, out = [], [], {}
        for name in sorted(names):
            if spaces is None:
                found = name in methods
            else:
                found = any("::".join(filter(None, ["tandem", space, name])) in have for space in spaces)
            reason = None if found else next((r for p, r in refused if fnmatch.fnmatchcase(name, p)), None)
            if found:
                here.append(name)
            elif reason:
                out.setdefault(reason.strip(), []).append(name)
            else:
                missing.append(name)
        total_here += len(here)
        total += len(here) + len(missing)
        summary.append((family, len(here), len(missing), sum(map(len, out.values()))))
        lines.append((family, spaces, here, missing, out))
    if "--missing" in sys.argv:
        for (family, _, here, missing, out), counts in zip(lines, summary):
            print(f"== {family}: here {counts[1]}, missing {counts[2]}, out of scope {counts[3]}")
            print(" ".join(missing))
        print(f"{total_here}/{total} = {100 * total_here / total:.1f} %")
        return
    print_table(lines, summary, total_here, total)


if __name__ == "__main__":
    main()
