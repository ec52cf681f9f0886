"""reference.py [OUT]: what the reference says of each public declaration, and which have nothing said of them.

Comments in the headers follow three rules that Doxygen does not know, so this script writes copies of the headers into
OUT in which they are spelled out, and Doxygen reads those (ci/Doxyfile):
- A comment holds for all declarations below it, up to the next comment or empty line.
- A macro that declares (core/elementwise_ops.h, TANDEM_ARG, TANDEM_MODULE, ...) is expanded. What it declares has the
  comment that stands over the macro's use, and the sentence in quotes among its arguments.
- A method of Tensor without a comment has that of the function of its name, whose first argument it is.
It prints the declarations of which nothing is said, and fails if there are any. `./run check` runs it without OUT.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SCOPE = re.compile(r"(?:template\s*<.*>\s*)?(?:inline\s+)?(namespace|class|struct|union|extern\b)[^()=]*$", re.S)
INTERNAL = re.compile(r"\bdetail\b")


class Declaration:
    def __init__(self, text, line, doc, trailing, scopes, access):
        self.text, self.line, self.doc, self.trailing = text, line, doc, trailing
        self.scopes, self.access = scopes, access  # of the enclosing namespaces and classes; private ones do not count

    def name(self):
        """Its name, '' where there is none (an unnamed enum)."""
        head = re.sub(r"^template\s*<(?:[^<>]|<[^<>]*>)*>\s*", "", self.text)
        head = re.sub(r"\brequires\b.*?(?=\b(?:Tensor|void|auto|std::|unsigned|T|bool)\b[^,;{]*\()", "", head, count=1, flags=re.S)
        found = re.search(r"(~?\w+)\s*\(", head) if "(" in head.split("=")[0] else re.search(r"(\w+)\s*(?:\[\w*\])?\s*(?:=|;|\{|$)", head)
        return found.group(1) if found else ""


def matching(text, i):
    """The position behind the bracket that closes the one at i."""
    depth = 0
    while i < len(text):
        c = text[i]
        if c in "\"'" and not (c == "'" and text[i - 1].isdigit()):
            i += 1
            while text[i] != c:
                i += 2 if text[i] == "\\" else 1
        elif text.startswith("//", i):
            i = text.index("\n", i)
        elif text.startswith("/*", i):
            i = text.index("*/", i) + 1
        elif c in "({[":
            depth += 1
        elif c in ")}]":
            depth -= 1
            if depth == 0:
                return i + 1
        i += 1
    raise ValueError("a bracket is not closed")


def parts(arguments):
    """The arguments of a macro, cut at its commas."""
    found, start, i = [], 0, 0
    while i < len(arguments):
        if arguments[i] in "({[":
            i = matching(arguments, i)
        elif arguments[i] == '"':
            i = arguments.index('"', i + 1) + 1
        elif arguments[i] == ",":
            found.append(arguments[start:i].strip())
            i = start = i + 1
        else:
            i += 1
    return found + [arguments[start:].strip()]


class Header:
    """Walks through a header. `emit` gets what the copy is made of: text, and declarations."""

    def __init__(self, text, macros, emit):
        self.text, self.macros, self.emit = text, macros, emit

    def walk(self, text=None, doc="", scopes=(), access="public", line=0):
        """line: 0 counts lines; for what a macro expands to, the line of its use."""
        text = self.text if text is None else text
        i, whole, opened, held, begins, leading = 0, doc, [], "", True, True
        while i < len(text):
            if text[i].isspace():
                end = re.compile(r"\s*").match(text, i).end()
                if text.count("\n", i, end) > 1 and not line:
                    doc, begins = "", True
                self.emit(text[i:end])
                i = end
            elif text.startswith("//", i):
                end = re.compile(r"//[^\n]*(?:\n[ \t]*//[^\n]*)*").match(text, i).end()
                lines = [part.strip() for part in text[i:end].split("\n")]
                held, leading = "", begins
                doc = "\n".join(re.sub("^///? ?", "", part) for part in lines if part.startswith("///"))
                self.emit("\n" * (len(lines) - 1))
                i = end
            elif text[i] == "#":
                end = re.compile(r"#(?:[^\n]*\\\n)*[^\n]*").match(text, i).end()
                self.directive(text[i:end])
                self.emit(text[i:end] if text.startswith("#include", i) else "\n" * text.count("\n", i, end))
                i = end
            elif text[i] == "}":
                scopes, access = opened.pop()
                end = re.compile(r"\}\s*;?").match(text, i).end()
                self.emit(text[i:end])
                i, doc = end, ""
            elif re.compile(r"(public|private|protected):").match(text, i):
                word = re.compile(r"\w+").match(text, i).group()
                access = access if access == "hidden" else word
                self.emit(word + ":")
                i, doc, begins = i + len(word) + 1, "", True
            else:
                end, opens = self.extent(text, i)
                rest = re.compile(r"[ \t]*// ?([^\n]*)").match(text, end) if not line else None
                trailing = rest.group(1) if rest else ""
                at = line or text.count("\n", 0, i) + 1
                declaration = Declaration(text[i:end], at, doc or whole, trailing, scopes, access)
                if scopes and not scopes[-1].startswith(("namespace", "inline namespace")) and not line:
                    if re.search(r"\boverride\b|= default;|= delete;|^~|virtual ~|^friend ", text[i:end]) and held:
                        declaration.doc = ""
                    name = declaration.name().rstrip("_")
                    constructor = held and re.search(r"\b" + held + r"$", scopes[-1].split("{")[0].split(" : ")[0])
                    if doc and held not in ("", name) and (not leading or constructor):
                        declaration.doc = doc = ""
                    held = name
                if opens:
                    opened.append((scopes, access))
                    kind = SCOPE.match(text[i:end - 1]).group(1)
                    if kind != "namespace":
                        self.emit(declaration)
                    else:
                        self.emit(text[i:end])
                    nested = access if access == "hidden" or access == "public" else "hidden"
                    scopes = scopes + (text[i:end - 1].strip(),)
                    access = nested if nested == "hidden" else "private" if kind == "class" else "public"
                    doc, begins = "", True
                    whole = whole if kind == "namespace" else ""
                else:
                    self.declaration(declaration)
                    begins = False
                i = rest.end() if rest and not opens else end

    def extent(self, text, i):
        """(end, whether it opens a scope) of the declaration at i."""
        start = i
        invoked = re.compile(r"(T[A-Z]+_[A-Z0-9_]+)(?=\()").match(text, i)
        if invoked:
            end = matching(text, invoked.end())
            rest = re.compile(r"\s*[;={]").match(text, end)
            if not rest:
                return end, False
            i = end
        while i < len(text):
            c = text[i]
            if c in "([":
                i = matching(text, i)
            elif text.startswith("//", i):
                i = text.index("\n", i)
            elif c == ";":
                return i + 1, False
            elif c == "{":
                before = text[start:i]
                if SCOPE.match(before) and not before.startswith("union {"):
                    return i + 1, True
                i = matching(text, i)
                follows = re.compile(r"\s*").match(text, i).end()
                constraint = re.search(r"requires\s*(\([^(){}]*\))?\s*$", before)
                if not constraint and text[follows:follows + 1] not in tuple(";,({"):
                    return i, False
            elif c == '"':
                i = text.index('"', i + 1) + 1
            else:
                i += 1
        return i, False

    def directive(self, text):
        found = re.match(r"#define (\w+)\(([^)]*)\)\s*(.*)", text.replace("\\\n", "\n"), re.S)
        if found:
            self.macros[found.group(1)] = (found.group(2).split(", "), re.sub(r"/\*.*?\*/", "", found.group(3)))

    def declaration(self, d):
        called = re.match(r"(\w+)\(", d.text)
        if called and called.group(1) in self.macros and called.group(1) != "TANDEM_CHECK":
            end = matching(d.text, called.end() - 1)
            self.expand(called.group(1), parts(d.text[called.end():end - 1]), d, d.text[end:])
        else:
            self.emit(d)

    def expand(self, name, arguments, d, rest):
        parameters, body = self.macros[name]
        if name in ("TANDEM_ARG", "TANDEM_ARG_OF"):  # doc: a field's own comment, and its default
            default = re.match(r"\s*=\s*(.*?);", rest, re.S)
            said = (d.trailing or d.doc).strip()
            d = Declaration(d.text, d.line, (said or "The option `" + arguments[-1] + "`") + ("" if said.endswith(".") else ".") +
                            (" Default: `" + default.group(1) + "`." if default else ""), "", d.scopes, d.access)
            self.emit("public: ")
            body = "Self& name(const T& value); const T& name() const;" if "OF" in name else "auto& name(const T& value); const T& name() const;"
            rest = ""
        values = dict(zip(parameters, arguments))
        values["__VA_ARGS__"] = ", ".join(arguments[len(parameters) - 1:]) if "..." in parameters else ""
        text = re.sub(r"(?<!#)#(\w+)", lambda m: '"' + values.get(m.group(1), m.group(1)) + '"', body)
        text = re.sub(r"\b(\w+?)##(\w*)", lambda m: values.get(m.group(1), m.group(1)) + values.get(m.group(2), m.group(2)), text)
        text = re.sub(r"(\w+)##(\w+)", lambda m: m.group(1) + values.get(m.group(2), m.group(2)), text)
        text = re.sub(r"\b\w+\b", lambda m: values.get(m.group(), m.group()), text)
        sentence = [a[1:-1] for a in arguments if re.fullmatch(r"\"[^\"]+\"", a)][-1:]
        doc = d.doc
        if sentence:
            doc = (sentence[0] if re.match(r"[a-z]\W", sentence[0]) else sentence[0][0].upper() + sentence[0][1:]) + "." + ACCEPTS.get(arguments[2] if len(arguments) > 3 else "", "")
        elif parameters[:1] == ["alias"] and len(arguments) > 1:
            doc = "Another spelling of " + arguments[1] + "."
        elif not doc and "class " in body and re.search(r"[a-z_0-9]{3,}", arguments[-1]):
            doc = "The module of `" + " ".join(arguments[-1].split()) + "`."
        self.walk(text, doc, d.scopes, d.access, d.line)
        if rest.strip() == ";" and not text.rstrip().endswith((";", "}")):
            self.emit(";")


ACCEPTS = {}


def accepted():
    """What the column `accepts` of core/elementwise_ops.h means, from the comment there."""
    with open(os.path.join(ROOT, "core/elementwise_ops.h")) as file:
        for word, meaning in re.findall(r"^//   (\w+) {2,}(.*)$", file.read(), re.M):
            ACCEPTS[word] = " Dtypes: " + meaning + "."


def escaped(doc):
    """For Doxygen: what stands between backquotes stays, elsewhere signs of comparison are no tags."""
    pieces = re.split(r"(`[^`\n]*`)", doc)
    for i in range(0, len(pieces), 2):
        pieces[i] = re.sub(r"([<>&#%\\$])", r"\\\1", pieces[i])
        pieces[i] = re.sub(r"@(?!(param|throws|return|tparam|copydoc|see|note)\b)", r"\\@", pieces[i])
    return "".join(pieces).replace("*/", "* /").replace("/*", "/ *")


def parameters_of(d, doc):
    """@param becomes an item of a list where this declaration has no parameter of that name."""
    def one(m):
        names = re.split(r",\s*", m.group(1))
        if all(re.search(r"\b" + name + r"\b", d.text) for name in names):
            return "@param " + ",".join(names)
        return "- `" + m.group(1) + "`:"
    return re.sub(r"@param\s+(\w+(?:,\s*\w+)*)", one, doc)


def without_constraint(text):
    """Doxygen takes a constructor behind `requires` for something else."""
    found = re.match(r"(template <[^>]*>)\s*requires\s*(\(|std::is_\w+<)", text)
    if not found or not re.match(r"\s*(explicit )?[A-Z]\w+\(", text[(end := constraint_end(text, found.end() - 1)):]):
        return text
    return found.group(1) + text[end:]


def constraint_end(text, i):
    if text[i] == "(":
        return matching(text, i)
    depth = 0
    while True:
        depth += {"<": 1, ">": -1}.get(text[i], 0)
        i += 1
        if depth == 0:
            return i


def each_alone(text, comment):
    """Variables that are declared together, `T a = 1, b = 2;`, as declarations of their own with one comment."""
    if "(" in text.split("=")[0].split("{")[0] or not text.endswith(";") or not comment:
        return comment + text
    pieces = [piece for piece in parts(text[:-1]) if piece]
    first = re.match(r"(.*?[\s&*])(\w+(?:\[\w*\])?)(\s*[={].*)?$", pieces[0], re.S)
    if len(pieces) < 2 or not first or "<" in pieces[0] and ">" not in pieces[0]:
        return comment + text
    return " ".join(comment + first.group(1) + piece + ";" for piece in [first.group(2) + (first.group(3) or "")] + pieces[1:])


def said_of(d, functions):
    """The comment of a declaration; without one of its own, what follows from its form; else ''."""
    if d.trailing and "(" not in d.text.split("=")[0]:
        return d.trailing
    return d.doc or d.trailing or follows_from_form(d, functions)


def follows_from_form(d, functions):
    name, text = d.name(), " ".join(d.text.split())
    enclosing = re.search(r"(\w+)(?: final)?(?: *:.*)?$", d.scopes[-1].split("{")[0].split(" : ")[0]) if d.scopes else None
    in_class = bool(d.scopes) and not d.scopes[-1].startswith(("namespace", "inline"))
    of = enclosing.group(1) if enclosing else ""
    if re.search(r"^[^(]*\w>?::~?\w+\(", text) and not in_class:
        return "."  # a definition outside of its class
    if re.match(r"(template <.*> )?\w+\(.*\) -> ", text):
        return "How the compiler deduces the arguments of the template."
    other = re.match(r"(?:template <.*> )?using (\w+) = (?:typename )?([^;]*);", text)
    if other:
        return f"Another name of `{other.group(2)}`."
    if re.match(r"(class|struct) \w+;|friend (class|struct)|template <class> friend|using |static_assert|(extern )?template class", text):
        return "."  # Doxygen lists none of these
    handle = re.match(r"class (\w+) : public (?:::)?(?:tandem::)?(?:nn::)?ModuleHolder<(\w+)>", text)
    if handle:
        return f"A shared handle of a `{handle.group(2)}`: copies name the same module."
    options = re.match(r"(?:template <.*> )?struct (\w+?)(Func)?Options\b", text)
    if options:
        return f"Options of `{options.group(1)}`" + (", the function." if options.group(2) else ".")
    if in_class:
        if "numeric_limits" in d.scopes[-1]:
            return "As the standard says."
        if re.search(r"^template ?<.*(struct|class) \w+ ?<", d.scopes[-1]):
            return "See the primary template."
        if name == of or name == "~" + of or re.match(r"(template <.*> )?(requires.*\) )?(explicit )?" + of + r"\(", text):
            return "See the class." if "= delete" not in text else "It cannot be copied."
        if text.startswith("friend "):
            return "A comparison, or what `<<` prints." if "operator" in text else "See the class."
        if "operator=" in text or "operator()" in text or re.search(r"\boverride\b|= default|= delete", text):
            return "As the class says, and its base."
        if name == "reset":
            return "Registers parameters and submodules anew."
        if name == "options":
            return "What it was made with."
        if of == "Tensor":
            for plain in (name, name[:-1]):
                if plain in functions:
                    return functions[plain] + "\nThe first argument is this tensor." + (" In place." if plain != name else "")
    calls = re.search(r"\{ return ((?:[^{}]|\{\})*); \}$", text)
    if calls:
        called = re.match(r"(?:(?:\w+::)*|x\.|a\.)(\w+)\(", calls.group(1))
        if called and called.group(1) in functions:
            return f"`{calls.group(1)}`. " + functions[called.group(1)]
        if name == "forward":
            return f"`{calls.group(1)}`"
    if not in_class:
        for plain, said in ((name, ""), (name[:-1], " In place."), (name[:-4], " The result is written into `out`, which is given back.")):
            if plain in functions and (plain == name or name in (plain + "_", plain + "_out")):
                return functions[plain] + said
    return ""


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else None
    accepted()
    listed = subprocess.run(["cmake", "-D", "SOURCE=" + ROOT, "-P", os.path.join(ROOT, "cmake/install_headers.cmake")],
                            check=True, stderr=subprocess.PIPE, text=True).stderr.split()
    headers, macros = {}, {}
    # A macro's header comes before those that use it.
    listed.sort(key=lambda h: (h not in ("core/elementwise_ops.h", "core/reduce_ops.h", "core/option.h", "nn/module.h", "nn/simple_module.h"), h))
    functions = {}
    for name in listed:
        with open(os.path.join(ROOT, name)) as file:
            text = file.read()
        pieces = headers[name] = []
        Header(text, macros, pieces.append).walk()
        for d in pieces:
            if isinstance(d, Declaration) and d.doc and len(d.scopes) == 1 and not INTERNAL.search(d.scopes[0]):
                functions.setdefault(d.name(), d.doc)
    missing = 0
    for name, pieces in headers.items():
        copy = []
        for d in pieces:
            if isinstance(d, str):
                copy.append(d)
                continue
            hidden = d.access != "public" or any(INTERNAL.search(s) and s.startswith("namespace") for s in d.scopes)
            doc = said_of(d, functions) or ("For derived classes." if d.access in ("protected", "hidden") else "")
            if doc == ".":
                copy.append(d.text)
                continue
            if doc:
                copy.append("/** " + escaped(parameters_of(d, doc)) + "\n*/ ")
            elif not hidden:
                missing += 1
                print(f"{name}:{d.line}: {' '.join(d.text.split())[:110]}")
            copy.append(each_alone(without_constraint(d.text), copy.pop() if doc else ""))
        if out:
            path = os.path.join(out, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write("".join(copy))
    if missing:
        print(f"{missing} public declarations have no comment")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
