"""reference.py [OUT]: finds the comment of each public declaration for the reference; lists declarations without one.

The headers' comments follow rules that Doxygen does not know. So this script writes copies of the headers into OUT with
a comment at each declaration, and Doxygen reads the copies (ci/Doxyfile). The rules:
- In a namespace, a comment applies to all declarations below it, up to the next comment or empty line. In a class, this
  is so if an empty line stands above the comment; otherwise it applies to all overloads of the name below it.
- A macro that declares (core/elementwise_ops.h, TANDEM_ARG, TANDEM_MODULE, ...) is expanded. Its declarations get the
  comment above the macro's use, or the sentence in quotes among its arguments.
- A method of Tensor without a comment gets the comment of the function of its name; f_() and f_out() get the comment of
  f(); a function that only calls another one gets the comment of the other.
- Constructors, overrides and the other forms in follows_from_form() need no comment.
It prints the declarations without a comment, and fails if there are any. `./run check` runs it without OUT.
"""
import os
import re
import subprocess
import sys

from reference_headers import ROOT, Declaration, Header, accepted_dtypes, matching, parts

DEFINE_MACROS = ("core/elementwise_ops.h", "core/reduce_ops.h", "core/option.h", "nn/module.h", "nn/module/simple_module.h")
NOT_LISTED = "."  # marks declarations that Doxygen does not list


def said_of(d, functions):
    """Returns the comment of a declaration, or a sentence that follows from its form, or ''."""
    if d.trailing and "(" not in d.text.split("=")[0]:
        return d.trailing
    said = d.doc or d.trailing or follows_from_form(d, functions)
    name = d.name()
    if said and said != NOT_LISTED and d.text.endswith(("}", ";")) and "(" in d.text:  # forms of one line of a list
        if name.endswith("_out") and "out" not in said:
            said += " The result is written into `out`, which is given back."
        elif name.endswith("_") and "lace" not in said:
            said += " In place."
    return said or ("For derived classes." if d.access in ("protected", "hidden") else "")


def follows_from_form(d, functions):
    """Returns a sentence for declarations whose form says enough, or ''.
    
    functions: the comments of tandem's functions and of Tensor's methods, by name."""
    text = " ".join(d.text.split())
    if re.search(r"^[^(]*\w>?::~?\w+\(", text) and not d.in_class():
        return NOT_LISTED  # a definition outside its class
    if re.match(r"(template <.*> )?\w+\(.*\) -> ", text):
        return "How the compiler deduces the arguments of the template."
    other = re.match(r"(?:template <.*> )?using (\w+) = (?:typename )?([^;]*);", text)
    if other:
        return f"Another name of `{other.group(2)}`."
    if re.match(r"(template <.*> )?(class|struct) \w+;|(template <class> )?friend (class|struct)|using |static_assert|"
                r"extern template |template class", text):
        return NOT_LISTED
    handle = re.match(r"class (\w+) : public (?:::)?(?:tandem::)?(?:nn::)?ModuleHolder<(\w+)>", text)
    if handle:
        return f"A shared handle of a `{handle.group(2)}`: copies name the same module."
    options = re.match(r"(?:template <.*> )?struct (\w+?)(Func)?Options\b", text)
    if options:
        return f"Options of `{options.group(1)}`" + (", the function." if options.group(2) else ".")
    return (d.in_class() and follows_from_class(d, text, functions)) or follows_from_another(d, text, functions)


def follows_from_class(d, text, functions):
    name, own = d.name(), d.class_name()
    if "numeric_limits" in d.scopes[-1]:
        return "As the standard says."
    if re.search(r"^template ?<.*(struct|class) \w+ ?<", d.scopes[-1]):
        return "See the primary template."
    if name in (own, "~" + own) or re.match(r"(template <.*> )?(requires.*\) )?(explicit )?" + own + r"\(", text):
        return "It cannot be copied." if "= delete" in text else "See the class."
    if text.startswith("friend "):
        return "A comparison, or what `<<` prints." if "operator" in text else "See the class."
    if re.search(r"operator=|operator\(\)|\boverride\b|= default|= delete", text):
        return "As the class says, and its base."
    if name == "reset":
        return "Registers parameters and submodules anew."
    if name in ("options", "config"):
        return "What it was made with."
    if own.endswith("Impl") and re.search(r"\w+\{nullptr\};$", text):
        return "The submodules of these names." if "," in text else f"The submodule `{name}`."
    if own == "Tensor":
        for plain, end in ((name, ""), (name[:-1], " In place.")):
            if plain in functions:
                said = functions[plain].rstrip()
                return said + ("" if said.endswith(".") else ".") + "\nThe first argument is this tensor." + end
    return ""


def follows_from_another(d, text, functions):
    """Returns a sentence for a function that only calls another one, and for f_() and f_out() beside f(); else ''."""
    name = d.name()
    calls = re.search(r"\{ return ((?:[^{}]|\{\})*); \}$", text)
    if calls:
        called = re.match(r"(?:(?:\w+::)*|x\.|a\.)(\w+?)(_out)?\(", calls.group(1))
        if called and called.group(1) in functions:
            return f"`{calls.group(1)}`. " + functions[called.group(1)]
        if name.startswith("forward"):
            return f"`{calls.group(1)}`"
    if not d.in_class():
        for end, said in (("", ""), ("_", " In place."),
                          ("_out", " The result is written into `out`, which is given back.")):
            plain = name[:len(name) - len(end)]
            if name == plain + end and plain in functions:
                return functions[plain] + said
    return ""


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
    functions = {}
    for d in (piece for pieces in headers.values() for piece in pieces if isinstance(piece, Declaration)):
        if d.doc and d.scopes == ("namespace tandem",):
            functions.setdefault(d.name(), d.doc)
    for d in (piece for name in ("core/tensor.h", "core/tensor_base.h") for piece in headers[name]):
        if isinstance(d, Declaration) and d.doc and d.class_name() in ("Tensor", "TensorBase"):
            functions.setdefault(d.name(), d.doc)
    missing = 0
    for header, pieces in headers.items():
        copy = []
        for d in pieces:
            said = said_of(d, functions) if isinstance(d, Declaration) else NOT_LISTED
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
