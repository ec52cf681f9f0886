"""reference.py [OUT]: finds the comment of each public declaration for the reference; lists declarations without one.

The headers' comments follow rules that Doxygen does not know. So this script writes copies of the headers into OUT with
a comment at each declaration, and Doxygen reads the copies (ci/Doxyfile). The rules:
- In a namespace, a comment applies to all declarations below it, up to the next comment or empty line. In a class, this
  is so if an empty line stands above the comment; otherwise it applies to all overloads of the name below it.
- A macro that declares (core/elementwise_ops.h, TANDEM_ARG, TANDEM_MODULE, ...) is expanded. Its declarations get the
  comment above the macro's use, or the sentence in quotes among its arguments.
- A declaration without a comment gets the sentence that ci/reference_rules.py derives from its form: a method of Tensor,
  f_() and f_out() get the comment of the function f(), an override that of the member it overrides. Members about which
  the code says nothing more than the class, such as destructors and copies, are left out of the copies.
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
    """Escapes text for Doxygen. Text between backquotes stays; elsewhere signs such as < must not become tags."""
    pieces = re.split(r"(`[^`\n]*`)", doc)
    for i in range(0, len(pieces), 2):
        pieces[i] = re.sub(r"([<>&#%\\$])", r"\\\1", pieces[i])
        pieces[i] = re.sub(r"@(?!(param|throws|return|tparam|copydoc|see|note)\b)", r"\\@", pieces[i])
    return "".join(pieces).replace("*/", "* /").replace("/*", "/ *")


def with_parameters(d, doc):
    """Turns @param into an item of a list if this declaration has no parameter of that name."""
    def one(found):
        names = re.split(r",\s*", found.group(1))
        # looks only at the declaration, before its body
        if all(re.search(r"[ &*]" + name + r"\s*[,)=]", d.text.split(") {")[0] + ")") for name in names):
            return "@param " + ",".join(names)
        return "- `" + found.group(1) + "`:"
    return re.sub(r"@param\s+(\w+(?:,\s*\w+)*)", one, doc)


def without_constraint(text):
    """Removes `requires` before a constructor, because Doxygen would not recognise the constructor."""
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
    """Splits variables declared together, `T a = 1, b = 2;`, into separate declarations with the same comment."""
    if "(" in text.split("=")[0].split("{")[0] or not text.endswith(";") or not comment:
        return comment + text
    pieces = [piece for piece in parts(text[:-1]) if piece]
    first = re.match(r"(.*?[\s&*])(\w+(?:\[\w*\])?)(\s*[={].*)?$", pieces[0], re.S)
    if len(pieces) < 2 or not first or "<" in pieces[0] and ">" not in pieces[0]:
        return comment + text
    variables = [first.group(2) + (first.group(3) or "")] + pieces[1:]
    return " ".join(comment + first.group(1) + variable + ";" for variable in variables)


def public_headers():
    """Returns the pieces of each public header: text, and declarations."""
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
        print(f"{missing} public declarations have no comment; ci/reference.py lists the places where it looks for one")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
