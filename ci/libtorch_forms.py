#!/usr/bin/env python3
"""libtorch_forms.py LIBTORCH_HEADERS TANDEM_INCLUDE [TORCH_INCLUDE]: compiles LibTorch's overloads against Tandem.

LibTorch has several forms of most functions and methods. For each form whose name Tandem has, this script writes one
call in which every argument is a variable of the type that LibTorch declares, and a second call without the arguments
that have defaults. It compiles all calls, prints those that fail, with the compiler's messages, and writes the section
"Overloads" of docs/libtorch_names.md. With --failing it writes nothing.

LIBTORCH_HEADERS is the folder `libtorch` of a configured build. TANDEM_INCLUDE contains `tandem/`. TORCH_INCLUDE has
LibTorch's headers (by default those of the torch that this Python imports).
"""
import collections
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

from libtorch_names import tandem_methods

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/libtorch_names.md"

# The variables that calls pass, and their types. Literals would convert to more types than variables do.
VARIABLES = {
    "t": "at::Tensor", "ot": "std::optional<at::Tensor>", "tl": "std::vector<at::Tensor>", "i": "int64_t", "b": "bool",
    "d": "double", "iv": "std::vector<int64_t>", "sc": "at::Scalar", "os": "std::optional<at::Scalar>",
    "oi": "std::optional<int64_t>", "od": "std::optional<double>", "ob": "std::optional<bool>",
    "ost": "std::optional<at::ScalarType>", "st": "at::ScalarType", "omf": "std::optional<at::MemoryFormat>",
    "oia": "at::OptionalIntArrayRef", "str": "std::string", "osv": "std::optional<std::string_view>",
    "dv": "std::vector<double>", "odl": "std::optional<at::ArrayRef<double>>",
    "lot": "c10::List<std::optional<at::Tensor>>", "opts": "at::TensorOptions", "mf": "at::MemoryFormat",
    "a3": "std::array<bool, 3>", "a2": "std::array<bool, 2>", "sl": "std::vector<at::Scalar>",
    "odv": "std::optional<at::Device>",
}
# What is passed for a parameter of each type.
ARGUMENTS = {
    "const at::Tensor &": "t", "at::Tensor &": "t", "at::TensorList": "at::TensorList(tl)",
    "const at::ITensorListRef &": "tl", "int64_t": "i", "bool": "b", "double": "d",
    "at::IntArrayRef": "at::IntArrayRef(iv)", "const at::Scalar &": "sc", "const ::std::optional<at::Tensor> &": "ot",
    "const ::std::optional<at::Scalar> &": "os", "::std::optional<int64_t>": "oi", "::std::optional<double>": "od",
    "::std::optional<bool>": "ob", "::std::optional<at::ScalarType>": "ost", "at::ScalarType": "st",
    "::std::optional<at::MemoryFormat>": "omf", "at::OptionalIntArrayRef": "oia", "c10::string_view": "str",
    "::std::string_view": "str", "::std::optional<c10::string_view>": "osv", "::std::optional<at::Device>": "odv",
    "::std::optional<::std::string_view>": "osv", "at::ArrayRef<double>": "at::ArrayRef<double>(dv)",
    "::std::optional<at::ArrayRef<double>>": "odl", "const c10::List<::std::optional<at::Tensor>> &": "lot",
    "at::TensorOptions": "opts", "at::MemoryFormat": "mf", "::std::array<bool,3>": "a3", "::std::array<bool,2>": "a2",
    "at::ArrayRef<at::Scalar>": "sl", "at::Device": "dev", "const at::Device &": "dev",
}
# Names that are not counted. The other tables of docs/libtorch_names.md say which of them Tandem has.
FAMILIES = re.compile(
    r"_|sparse|quantize|fake_quantize|mkldnn|cudnn|miopen|fbgemm|dequantize|q_|int_repr|to_|cuda|slow_|thnn|native_|"
    r"nested|fft|complex|polar|real|imag|conj|is_conj|resolve|view_as_(complex|real)|segment|lstm|gru|rnn|quantized|"
    r".*backward|.*(_copy|_out|_outf)$")
# Forms that are not counted, by a type of their parameters.
NOT_COUNTED = [
    ("Dimname", "names of dimensions"), ("SymInt", "symbolic sizes"), ("Generator", "generators"),
    ("optional<at::Layout>", "dtype, layout, device and pin_memory as four arguments"),
    ("Storage", "storages and streams"), ("Stream", "storages and streams"),
]
# Why forms do not compile, by name.
REASONS = {
    "is_pinned": "LibTorch has deprecated the argument `device`",
    "pin_memory": "LibTorch has deprecated the argument `device`",
}


def split_parameters(text):
    """Splits a list of parameters at the commas that are not inside brackets."""
    parts, depth, current = [], 0, ""
    for c in text:
        depth += (c in "<({") - (c in ">)}")
        if c == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += c
    return parts + [current.strip()] if current.strip() else parts


def functions(include):
    """Yields (name, schema, parameters) of each function in ATen/ops."""
    for path in sorted((include / "ATen/ops").glob("*.h")):
        if re.search(r"_(native|ops|dispatch|meta)\.h$", path.name):
            continue
        text = re.sub(r"namespace symint \{.*?\n\}\n", "", path.read_text(), flags=re.S)
        for schema, name, parameters in re.findall(r"// (aten::[^\n]*)\ninline [^\n]*? (\w+)\((.*?)\) \{", text):
            yield name, schema, parameters


def methods(include):
    """Yields (name, schema, parameters) of each method of Tensor. TensorBody.h declares them without their schemas,
    and defines them below, each after its schema."""
    text = (include / "ATen/core/TensorBody.h").read_text()
    declared = collections.defaultdict(list)  # the declarations have the default values
    for name, parameters in re.findall(r"^  [\w:&<>, ]+? (\w+)\((.*?)\) const;$", text, flags=re.M):
        declared[name].append(split_parameters(parameters))
    definition = r"// (aten::[^\n]*)\ninline [^\n]*? Tensor::(\w+)\((.*?)\) const \{"
    for schema, name, parameters in re.findall(definition, text):
        plain = split_parameters(parameters)
        for candidate in declared[name]:
            if [p.split("=")[0].strip() for p in candidate] == plain:
                parameters = ", ".join(candidate)
        yield name, schema, parameters


def make_calls(forms, have, prefix):
    """Returns the calls, as (name, schema, call), and how many forms are not counted for which reason."""
    calls, left_out = [], collections.Counter()
    for name, schema, parameters in forms:
        if FAMILIES.match(name) or name not in have:
            continue
        reason = next((reason for pattern, reason in NOT_COUNTED if pattern in parameters), None)
        if reason:
            left_out[reason] += 1
            continue
        arguments, needed = [], 0
        for parameter in split_parameters(parameters):
            declaration, _, default = parameter.partition("=")
            arguments.append(ARGUMENTS[re.match(r"(.*?)\w+$", declaration.strip())[1].strip()])
            needed = needed if default else len(arguments)
        for count in sorted({len(arguments), needed}, reverse=True):
            calls.append((name, schema, f"{prefix}{name}({', '.join(arguments[:count])})"))
    return calls, left_out


def compile_calls(calls, libtorch, tandem):
    """Returns the compiler's first message about each call that does not compile, by the call's number."""
    source = '#include <torch/torch.h>\nat::Device dev("cpu");\n'
    source += "".join(f"{type} {name};\n" for name, type in VARIABLES.items())
    for number, (_, _, call) in enumerate(calls):
        source += f'void f{number}() {{\n#line 1 "call_{number}"\n {call}; }}\n'
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "calls.cpp"
        path.write_text(source)
        command = ["g++", "-std=c++20", "-w", "-fmax-errors=0", "-fsyntax-only", "-I", libtorch, "-I", tandem,
                   str(path)]
        result = subprocess.run(command, text=True, capture_output=True)
    failures = {}
    for line in result.stderr.splitlines():
        if match := re.match(r"call_(\d+):1:\d+: error: (.*)", line):
            failures.setdefault(int(match[1]), match[2])
        elif "error:" in line and "calls.cpp" in line:
            raise SystemExit(line)
    return failures


def section(tables, left_out):
    """Returns the text of the section "Overloads"."""
    count, failed = sum(len(calls) for _, calls, _ in tables), sum(len(failures) for _, _, failures in tables)
    lines = ["## Overloads", ""]
    lines += textwrap.wrap(
        "A name counts as \"here\" above even if an overload is missing. This section counts overloads: "
        f"{count - failed} of {count} calls compile, or {100 * (count - failed) / count:.1f} %. Each form of a function "
        "or method whose name Tandem has is called with every argument as a variable of the type that LibTorch declares, "
        "and once more without the arguments that have defaults. `ci/libtorch_forms.py` writes this section.", 120)
    lines += ["", "| kind | names | calls | compile |", "|---|---|---|---|"]
    for kind, calls, failures in tables:
        names = len({name for name, _, _ in calls})
        lines.append(f"| {kind} | {names} | {len(calls)} | {len(calls) - len(failures)} |")
    lines.append("")
    lines += textwrap.wrap(
        "Not counted: names that begin with an underscore, slow_, thnn_ or native_; out, backward and copying "
        "functions; sparse, quantised, nested and complex tensors, and conversions to them; Fourier transforms; "
        "recurrent networks; functions of one backend, such as cudnn; and forms with "
        + ", ".join(f"{reason} ({number})" for reason, number in sorted(left_out.items())) + ".", 120)
    lines.append("")
    lines += textwrap.wrap(
        "Some forms compile, but ask for what Tandem does not have. They throw an error that says so: `sparse_grad` of "
        "`gather`, `sparse` of `embedding`.", 120)
    lines += ["", "Calls that do not compile:", ""]
    for _, calls, failures in tables:
        for number in failures:
            name, schema, call = calls[number]
            lines.append(f"- `{call}`: {REASONS.get(name, 'not written yet')}")
    return "\n".join(lines) + "\n"


def main():
    arguments = [a for a in sys.argv[1:] if a != "--failing"]
    if len(arguments) < 2:
        raise SystemExit(__doc__)
    if len(arguments) > 2:
        include = Path(arguments[2])
    else:
        import torch
        include = Path(torch.__file__).parent / "include"
    public = {name.removeprefix("tandem::") for name in (ROOT / "ci/public_names.txt").read_text().split()}
    tables, left_out = [], collections.Counter()
    for kind, forms, have, prefix in [("functions", functions(include), public, "at::"),
                                      ("methods", methods(include), tandem_methods(), "t.")]:
        calls, reasons = make_calls(forms, have, prefix)
        failures = compile_calls(calls, *arguments[:2])
        tables.append((kind, calls, failures))
        left_out += reasons
        for number, message in failures.items():
            print(f"{calls[number][2]}: {message}\n  {calls[number][1]}")
    if "--failing" not in sys.argv:
        page = PAGE.read_text()
        PAGE.write_text(page.split("\n## Overloads\n")[0].rstrip() + "\n\n" + section(tables, left_out))


if __name__ == "__main__":
    main()
