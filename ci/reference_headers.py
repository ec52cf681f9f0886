"""Walks through a header, and finds its declarations with their scopes and comments, for ci/reference.py.

It relies on clang-format's layout, and expands macros that declare.
"""
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SCOPE = re.compile(r"(?:template\s*<.*>\s*)?(?:inline\s+)?(namespace|class|struct|union|extern\b)[^()=]*$", re.S)
CLASS = re.compile(r"(?:class|struct|union)\s+(?:\w+::)*(\w+)")
SPACE = re.compile(r"\s*")
COMMENT = re.compile(r"//[^\n]*(?:\n[ \t]*//[^\n]*)*")
DIRECTIVE = re.compile(r"#(?:[^\n]*\\\n)*[^\n]*")
ACCESS = re.compile(r"(public|private|protected):")


class Declaration:
    """text: the declaration without the comment above it (doc) and the one behind it (trailing). scopes: the heads of
    the namespaces and classes around it. access: public, protected, private, or hidden (inside a private class)."""

    def __init__(self, text, line, doc, trailing, scopes, access):
        self.text, self.line, self.doc, self.trailing = text, line, doc, trailing
        self.scopes, self.access = scopes, access

    def head(self):
        """The text without what stands before the declared name: the template's parameters."""
        return re.sub(r"^template\s*<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>\s*", "", self.text)

    def opens_class(self):
        return self.text.endswith("{") and bool(CLASS.match(self.head()))

    def name(self):
        """Returns its name; '' if it has none (an unnamed enum)."""
        head = self.head()
        if self.opens_class():
            return CLASS.match(head).group(1)
        declared = r"\b(?:Tensor|void|auto|std::|unsigned|T|bool)\b[^,;{]*\(|\b[A-Z]\w+\("
        head = re.sub(r"\brequires\b.*?(?=" + declared + ")", "", head, count=1, flags=re.S)
        if "(" in head.split("=")[0]:
            found = re.search(r"(~?\w+)\s*\(", head)
        else:
            found = re.search(r"(\w+)\s*(?:\[\w*\])?\s*(?:=|;|\{|$)", head)
        return found.group(1) if found else ""

    def in_class(self):
        return bool(self.scopes) and not self.scopes[-1].startswith(("namespace", "inline namespace"))

    def class_name(self):
        """Returns the name of the innermost scope."""
        return Declaration(self.scopes[-1] + " {", 0, "", "", (), "").name() if self.in_class() else ""

    def is_internal(self):
        return any(re.search(r"\bdetail\b", scope) for scope in self.scopes if scope.startswith("namespace"))


def matching(text, i):
    """Returns the position after the bracket that closes the bracket at i."""
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
    """Splits the arguments of a macro at its commas."""
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


DTYPES = {}


def accepted_dtypes():
    """Reads the meanings of the column `accepts` from the comment in core/elementwise_ops.h."""
    with open(os.path.join(ROOT, "core/elementwise_ops.h")) as file:
        for word, meaning in re.findall(r"^//   (\w+) {2,}(.*)$", file.read(), re.M):
            DTYPES[word] = " Dtypes: " + meaning + "."


class Header:
    """Walks through a header. Calls `emit` with each piece of the copy: text, or a declaration."""

    def __init__(self, text, macros, emit):
        self.text, self.macros, self.emit = text, macros, emit

    def walk(self, whole="", scopes=(), access="public", line=0):
        """Walks through the text. In an expanded macro, `line` is the line of its use, and `whole` its comment."""
        text = self.text
        self.scopes, self.access, self.doc, self.opened = scopes, access, whole, []
        self.name, self.leads, self.begins = "", True, True  # name: the one that doc applies to; leads: doc begins a
                                                             # paragraph
        i = 0
        while i < len(text):
            if text[i].isspace():
                end = SPACE.match(text, i).end()
                if text.count("\n", i, end) > 1 and not line:
                    self.doc, self.begins = "", True
                self.emit(text[i:end])
            elif text.startswith("//", i):
                end = COMMENT.match(text, i).end()
                self.comment(text[i:end])
            elif text[i] == "#":
                end = DIRECTIVE.match(text, i).end()
                self.directive(text[i:end])
                self.emit(text[i:end] if text.startswith("#include", i) else "\n" * text.count("\n", i, end))
            elif text[i] == "}":
                end = re.compile(r"\}\s*;?").match(text, i).end()
                self.scopes, self.access = self.opened.pop()
                self.doc = ""
                self.emit(text[i:end])
            elif ACCESS.match(text, i):
                end = ACCESS.match(text, i).end()
                self.access = self.access if self.access == "hidden" else text[i:end - 1]
                self.doc, self.begins = "", True
                self.emit(text[i:end])
            else:
                end, opens = self.extent(text, i)
                behind = re.compile(r"[ \t]*// ?([^\n]*)").match(text, end) if not line and not opens else None
                d = Declaration(text[i:end], line or text.count("\n", 0, i) + 1, self.doc or whole,
                                behind.group(1) if behind else "", self.scopes, self.access)
                if d.in_class() and not line:
                    self.choose_comment(d)
                if opens:
                    self.open(d)
                    whole = whole if d.text.startswith(("namespace", "inline namespace")) else ""
                else:
                    self.declaration(d)
                    self.begins = False
                end = behind.end() if behind else end
            i = end

    def comment(self, text):
        lines = [part.strip() for part in text.split("\n")]
        self.name, self.leads = "", self.begins
        self.doc = "\n".join(re.sub("^///? ?", "", part) for part in lines if part.startswith("///"))
        self.emit("\n" * (len(lines) - 1))

    def choose_comment(self, d):
        """In a class, a comment that begins no paragraph applies to one name; a constructor's, to constructors."""
        name = d.name().rstrip("_")
        if self.name and re.search(r"\boverride\b|= default;|= delete;|^~|virtual ~|^friend ", d.text):
            d.doc = ""
        if self.doc and self.name not in ("", name) and (not self.leads or self.name == d.class_name()):
            self.doc = d.doc = ""
        self.name = name

    def open(self, d):
        """Enters a namespace or a class."""
        self.opened.append((self.scopes, self.access))
        kind = SCOPE.match(d.text[:-1]).group(1)
        self.emit(d.text if kind == "namespace" else d)
        if self.access != "public":
            self.access = "hidden"
        elif kind == "class":
            self.access = "private"
        self.scopes += (d.text[:-1].strip(),)
        self.doc, self.begins = "", True

    def extent(self, text, i):
        """Returns (end, whether it opens a scope) of the declaration at i."""
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
                follows = SPACE.match(text, i).end()
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
        """Walks through the expansion of a macro's use; `rest` is the text after the use."""
        parameters, body = self.macros[name]
        doc = d.doc
        if name in ("TANDEM_ARG", "TANDEM_ARG_DECLARED", "TANDEM_INHERITED_ARG"):  # declares a setter and a getter
            doc = self.of_field(arguments[-1], d, rest)
            self.emit("public: ")
            body = ("Self" if "OF" in name else "auto") + "& name(const T& value); const T& name() const;"
            rest = ""
        values = dict(zip(parameters, arguments))
        if "..." in parameters:
            values["__VA_ARGS__"] = ", ".join(arguments[len(parameters) - 1:])
        value = lambda word: values.get(word, word)
        text = re.sub(r"(?<!#)#(\w+)", lambda m: '"' + value(m.group(1)) + '"', body)
        text = re.sub(r"\b(\w+?)##(\w*)", lambda m: value(m.group(1)) + value(m.group(2)), text)
        text = re.sub(r"(\w+)##(\w+)", lambda m: m.group(1) + value(m.group(2)), text)
        text = re.sub(r"\b\w+\b", lambda m: value(m.group()), text)
        sentence = [a[1:-1] for a in arguments if re.fullmatch(r"\"[^\"]+\"", a)][-1:]
        if sentence:
            first = sentence[0] if re.match(r"[a-z]\W|\w+[_(]", sentence[0]) else sentence[0][0].upper() + sentence[0][1:]
            doc = first + "." + (DTYPES.get(arguments[2], "") if len(arguments) > 3 else "")
        elif parameters[:1] == ["alias"] and len(arguments) > 1:
            doc = "Alias of " + arguments[1] + "()."
        elif not doc and "class " in body:
            forward = re.search(r" forward\([^{]*\{ return (.*?); \}", " ".join(text.split()))
            doc = "Module whose forward() returns `" + forward.group(1) + "`." if forward else ""
        Header(text, self.macros, self.emit).walk(doc, d.scopes, d.access, d.line)
        if rest.strip() == ";" and not text.rstrip().endswith(";"):
            self.emit(";")

    @staticmethod
    def of_field(name, d, rest):
        """Returns the comment of an option, with its default."""
        default = re.match(r"\s*=\s*(.*?);", rest, re.S)
        said = (d.trailing or d.doc).strip() or "Sets, or returns, the option `" + name + "`"
        said = said[0].upper() + said[1:] if re.match(r"[a-z][a-z]", said) else said
        said += "" if said.endswith(".") else "."
        return said + (" Default: `" + default.group(1) + "`." if default else "")
