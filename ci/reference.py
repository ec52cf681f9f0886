"""reference.py [OUT]: what the reference says of each public declaration, and which have nothing said of them.

Comments in the headers follow rules that Doxygen does not know, so this script writes copies of the headers into OUT in
which they are spelled out, and Doxygen reads those (ci/Doxyfile):
- In a namespace a comment holds for all declarations below it, up to the next comment or empty line. In a class it does
  so if an empty line stands above it; else it holds for the name below it, in all its overloads.
- A macro that declares (core/elementwise_ops.h, TANDEM_ARG, TANDEM_MODULE, ...) is expanded. What it declares has the
  comment that stands over the macro's use, or the sentence in quotes among its arguments.
- A declaration without a comment has the one that ci/reference_rules.py derives from its form: a method of Tensor, f_()
  and f_out() have the comment of the function f(), an override that of the member it overrides. Members about which the
  code says nothing more than the class, such as destructors and copies, are left out of the copies.
It prints the public declarations that have neither, and fails if there are any. `./run check` runs it without OUT.
"""
import os
import re
import subprocess
import sys

from reference_headers import ROOT, Declaration, Header, accepted_dtypes, matching, parts
from reference_rules import LEFT_OUT, NOT_LISTED, Rules

DEFINE_MACROS = ("core/elementwise_ops.h", "core/reduce_ops.h", "core/option.h", "nn/module.h", "nn/module/simple_module.h")

def escaped(doc):
    """For Doxygen: what stands between backquotes stays, elsewhere signs of comparison are no tags."""
    pieces = re.split(r"(`[^`\n]*`)", doc)
    for i in range(0, len(pieces), 2):
        pieces[i] = re.sub(r"([<>&#%\\$])", r"\\\1", pieces[i])
        pieces[i] = re.sub(r"@(?!(param|throws|return|tparam|copydoc|see|note)\b)", r"\\@", pieces[i])
    return "".join(pieces).replace("*/", "* /").replace("/*", "/ *")


def with_parameters(d, doc):
    """@param becomes an item of a list where this declaration has no parameter of that name."""
    def one(found):
        names = re.split(r",\s*", found.group(1))
        # of its own, before the body
        if all(re.search(r"[ &*]" + name + r"\s*[,)=]", d.text.split(") {")[0] + ")") for name in names):
            return "@param " + ",".join(names)
        return "- `" + found.group(1) + "`:"
    return re.sub(r"@param\s+(\w+(?:,\s*\w+)*)", one, doc)


def without_constraint(text):
    """Doxygen takes a constructor behind `requires` for something else."""
    found = re.match(r"(template <[^>]*>)\s*requires\s*(\(|std::is_\w+<)", text)
    if not found:
        return text
    end = found.end() - 1
    if text[end] == "(":
        end = matching(text, end)
    else:
        depth = 0
        while True:
            depth += {"<": 1, ">": -1}.get(text[end], 0)
            end += 1
            if depth == 0:
                break
    return found.group(1) + text[end:] if re.match(r"\s*(explicit )?[A-Z]\w+\(", text[end:]) else text


def each_alone(text, comment):
    """Variables that are declared together, `T a = 1, b = 2;`, as declarations of their own with one comment."""
    if "(" in text.split("=")[0].split("{")[0] or not text.endswith(";") or not comment:
        return comment + text
    pieces = [piece for piece in parts(text[:-1]) if piece]
    first = re.match(r"(.*?[\s&*])(\w+(?:\[\w*\])?)(\s*[={].*)?$", pieces[0], re.S)
    if len(pieces) < 2 or not first or "<" in pieces[0] and ">" not in pieces[0]:
        return comment + text
    variables = [first.group(2) + (first.group(3) or "")] + pieces[1:]
    return " ".join(comment + first.group(1) + variable + ";" for variable in variables)


def public_headers():
    """The pieces of each public header: text, and declarations."""
    listed = subprocess.run(["cmake", "-D", "SOURCE=" + ROOT, "-P", os.path.join(ROOT, "cmake/install_headers.cmake")],
                            check=True, stderr=subprocess.PIPE, text=True).stderr.split()
    headers, macros = {}, {}
    for name in sorted(listed, key=lambda header: (header not in DEFINE_MACROS, header)):
        pieces = headers[name] = []
        with open(os.path.join(ROOT, name)) as file:
            Header(file.read(), macros, pieces.append).walk()
    return headers


def main():
    accepted_dtypes()
    headers = public_headers()
    rules = Rules(headers)
    missing = 0
    for header, pieces in headers.items():
        copy = []
        for d in pieces:
            said = rules.comment(d) if isinstance(d, Declaration) else NOT_LISTED
            if said == LEFT_OUT:
                copy.append("\n" * d.text.count("\n"))
                continue
            if said == NOT_LISTED:
                copy.append(d.text if isinstance(d, Declaration) else d)
                continue
            if not said and d.access == "public" and not d.is_internal():
                missing += 1
                print(f"{header}:{d.line}: {' '.join(d.text.split())[:110]}")
            comment = "/** " + escaped(with_parameters(d, said)) + "\n*/ " if said else ""
            copy.append(each_alone(without_constraint(d.text), comment))
        if len(sys.argv) > 1:
            path = os.path.join(sys.argv[1], header)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write("".join(copy))
    if missing:
        print(f"{missing} public declarations have no comment: ci/reference.py says where one is looked for")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
