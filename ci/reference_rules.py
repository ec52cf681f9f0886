"""Derives the comment of a declaration that has none from its form. For ci/reference.py.

Each rule returns a sentence that follows from the code, LEFT_OUT where the code says no more than the class or the
signature does (the member then does not appear in the reference), or '' where the declaration needs a comment.
"""
import re

from reference_headers import Declaration, matching, parts

NOT_LISTED = "."  # Doxygen does not list the declaration, so it needs no comment
LEFT_OUT = "-"  # the declaration is not copied
NO_ARGUMENTS = {"empty": "an empty", "is_empty": "an empty", "defined": "an undefined"}  # by a member of the class


def paragraphs(*texts):
    """Joins what is not empty; an empty line ends @throws and @param in Doxygen."""
    return "\n\n".join(text.rstrip() for text in texts if text)


def sequence(words):
    """Returns "`a`, `b` and `c`"."""
    quoted = [f"`{word}`" for word in words]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def with_article(name):
    """Returns the name in backquotes after "a" or "an". Initials are read letter by letter: an SGD."""
    return ("an" if re.match(r"[AEI]|O(?!ne)|[FHLMNRSX][A-Z]", name) else "a") + f" `{name}`"


def out_variant(plain, text):
    """Describes the function `text`, which writes the results of `plain` into its first parameters."""
    outputs = re.findall(r"(?<!const )Tensor& (\w+)[,)]", text)
    written = (f"the result into `{outputs[0]}` and returns it" if len(outputs) == 1 else
               f"the results into {sequence(outputs)} and returns them" if outputs else "the results into `out`")
    return f"Out variant of {plain}(): writes {written}."


def bases_of(head):
    """Returns the names of the base classes, without namespaces and template arguments."""
    bases = head.split("{")[0].partition(" : ")[2]
    return re.findall(r"(?:^|, )\s*(?:public |private |protected |virtual )*(?:::)?(?:\w+::)*(\w+)",
                      re.sub(r"<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>", "", bases))


def parameters_of(text, name):
    """Returns (type, name) of each parameter of a constructor; the name of an unnamed parameter is its type."""
    start = re.search(r"(?<!~)\b" + name + r"\(", text).end() - 1
    pieces = []
    for piece in parts(text[start + 1:matching(text, start) - 1]):
        if pieces and pieces[-1].count("<") > pieces[-1].count(">"):  # a comma between template arguments
            pieces[-1] += ", " + piece
        elif piece:
            pieces.append(piece)
    found = []
    for piece in pieces:
        piece = piece.split(" =")[0].strip()
        named = re.match(r"(.*[\s&*>.])(\w+)$", piece)
        found.append((named.group(1).strip(), named.group(2)) if named else (piece, piece.strip("&")))
    return found


class Rules:
    """Comments of the functions, classes and members in the public headers, and the rules that derive others."""

    def __init__(self, headers):
        self.functions = {}  # comments of the functions of namespace tandem, by name
        self.of_tensors = set()  # names of the functions that take a tensor first
        self.names = set()  # names of all functions
        self.users = {}  # names of functions and classes, by the namespace and the name of the options that they take
        self.methods = {}  # comments of members, by (class, name)
        self.classes = {}  # declarations of classes, by name
        self.members = {}  # names of the members of each class
        for d in (piece for pieces in headers.values() for piece in pieces if isinstance(piece, Declaration)):
            if d.scopes == ("namespace tandem",) and d.doc and d.name():
                self.functions.setdefault(d.name(), d.doc)
                if re.search(r"\w\((const )?Tensor\b", d.text):
                    self.of_tensors.add(d.name())
            if not d.is_internal() and d.access == "public":
                user = d.name() + "()" if not d.in_class() else d.class_name()
                user += f"::{d.name()}()" if d.name() != user.removesuffix("()") else ""
                for options in re.findall(r"(\w+Options)&? \w+", d.text.split("{")[0]):
                    self.users.setdefault((d.scopes[0], options), user)
            if not d.in_class() and "(" in d.text:
                self.names.add(d.name())
            if d.in_class():
                self.members.setdefault(d.class_name(), set()).add(d.name())
                if d.doc:
                    self.methods.setdefault((d.class_name(), d.name()), d.doc)
            elif d.opens_class():
                self.classes.setdefault(d.name(), d)

    def comment(self, d):
        """Returns the declaration's own comment or the derived one."""
        if d.trailing and "(" not in d.text.split("=")[0]:
            return d.trailing
        said = d.doc or d.trailing or self.derived(d)
        name = d.name()
        if said not in ("", NOT_LISTED, LEFT_OUT) and d.text.endswith(("}", ";")) and "(" in d.text:
            alias = re.fullmatch(r"Alias of (\w+)\(\)\.", said)  # one entry of a list declares f, f_ and f_out
            form = re.search(r"(_out|_|)$", name).group()
            if alias:
                other = alias.group(1) + form
                said = f"Alias of {'tandem::' if other == name else ''}{other}()."
            elif form == "_out" and name[:-4] in self.names and not re.search(r"`out`|_out\(out\b", said):
                said = paragraphs(said, out_variant(name[:-4], d.text))
            elif form == "_" and "lace" not in said:
                plain = name[:-1] if d.scopes == ("namespace tandem",) or d.class_name() == "Tensor" else ""
                said = paragraphs(said, f"In-place version of {plain}()." if plain in self.of_tensors else "In place.")
        return said or (LEFT_OUT if d.access in ("protected", "hidden") and not d.opens_class() else "")

    def derived(self, d):
        text = " ".join(d.text.split())
        if re.search(r"^[^(]*\w>?::~?\w+\(", text) and not d.in_class():
            return NOT_LISTED  # the definition of a member outside of its class
        other = re.match(r"(?:template <.*> )?using (\w+) = (?:typename )?([^;]*);", text)
        if other:
            return f"Alias of `{other.group(2)}`."
        if re.match(r"(template <.*> )?(class|struct) \w+;|(template <class> )?friend (class|struct)|using |"
                    r"static_assert|extern template |template class", text):
            return NOT_LISTED
        if re.match(r"(template <.*> )?\w+\([^()]*\) -> ", text):
            return f"Deduction guide of the class template `{d.name()}`."
        if d.opens_class():
            return self.of_class(d, text)
        return self.of_operator(d, text) or (d.in_class() and self.of_member(d, text)) or self.of_another(d, text)

    def of_class(self, d, text):
        name = d.name()
        special = re.match(r"template <.*?(?:class|struct) ((?:\w+::)*\w+)<(.*?)>(?: : .*)? \{$", text)
        if special:
            return f"Specialization of `{special.group(1)}` for `{special.group(2)}`."
        handle = re.search(r" : public (?:::)?(?:tandem::)?(?:nn::)?ModuleHolder<(\w+)>", text)
        if handle:
            module = self.classes.get(handle.group(1))
            return paragraphs(self.comment(module) if module else "",
                              f"Shared handle to {handle.group(1)}: copies of the handle refer to the same module.")
        options = re.match(r"(\w+)Options$", name)
        if options and "struct " in text:
            user = options.group(1)
            if not {user, user + "Impl", user + "1dImpl"} & self.classes.keys():
                user = self.users.get((d.scopes[0], name), user)
            return f"Options of {user}."
        if name in self.functions:
            return paragraphs(self.functions[name], f"Type of the constant {name}.")
        base = re.search(r"(?<!template <)class \w+ : public (\w+)<.*\b" + name + r">", text)
        if base and base.group(1) != "Cloneable":  # BatchNorm1dImpl : public BatchNormImplBase<1, BatchNorm1dImpl>
            return self.classes[base.group(1)].doc if base.group(1) in self.classes else ""
        return f"Implementation of the module {name[:-4]}." if base and name.endswith("Impl") else ""

    def of_operator(self, d, text):
        """Comparison operators and printing."""
        operands = re.search(r"operator(==|<=>|<<)\((.*?)\)", text)
        if not operands or d.in_class() and not text.startswith("friend "):
            return "Whether all members are equal." if "operator==" in text and "= default" in text else ""
        names = [f"`{name}`" for name in re.findall(r"(\w+)(?:,|$)", re.sub("<.*?>", "", operands.group(2)))]
        if len(names) != 2:
            return ""
        return {"==": "Whether {0} and {1} are equal.", "<=>": "Compares {0} with {1}.",
                "<<": "Prints {1} to {0}."}[operands.group(1)].format(*names)

    def of_member(self, d, text):
        name, own = d.name(), d.class_name()
        if name == own:
            return self.of_constructor(own, text)
        if name.startswith("~") or text.startswith("friend "):
            return LEFT_OUT
        if re.search(r"\b(struct|class) [\w:]+ ?<", d.scopes[-1]):
            return LEFT_OUT  # a specialization has the members of the primary template
        if "operator=(" in text:
            return f"Deleted: {with_article(own)} cannot be assigned." if "= delete" in text else LEFT_OUT
        if re.search(r"\boverride\b", text):
            return self.inherited(own, name) or LEFT_OUT
        if re.search(r"= default|= delete", text):
            return LEFT_OUT
        if name in ("options", "config"):
            return f"{'Options' if name == 'options' else 'Configuration'} that this object was constructed with."
        if own.endswith("Impl") and re.search(r"\w+\{nullptr\};$", text):
            names = re.findall(r"(\w+)\{nullptr\}", text)
            return f"Submodule{'s' if len(names) > 1 else ''} {sequence(names)}."
        return self.of_method(name) if own == "Tensor" else ""

    def of_constructor(self, own, text):
        parameters = parameters_of(text, own)
        copies = len(parameters) == 1 and re.match(r"(const )?" + own + r"(<.*>)?&", parameters[0][0])
        if "= delete" in text:
            return f"Deleted: {with_article(own)} cannot be copied." if copies else LEFT_OUT
        if copies:
            return LEFT_OUT
        kind = re.search(r"(Options|Config)$", own)
        options = {"Options": "options", "Config": "configuration"}
        made = "the module" if own.endswith("Impl") else "the " + options[kind.group()] if kind else with_article(own)
        if not parameters:
            if kind:
                return f"Constructs {made} with default values."
            known = [NO_ARGUMENTS[member] for member in NO_ARGUMENTS
                     for class_name in self.lineage(own) if member in self.members.get(class_name, ())]
            return f"Constructs {known[0]} `{own}`." if known and "= default" in text else LEFT_OUT
        delegated = re.search(r"\) : " + own + r"\((\w+Options\(.*?\))\) \{\}", text)
        if delegated:
            return f"Constructs {made} with the options `{delegated.group(1)}`."
        given = re.search(r"(Options|Config)(<\w+>)?&$", parameters[0][0])
        if len(parameters) == 1 and given:
            return f"Constructs {made} with the given {options[given.group(1)]}."
        names = [name for _, name in parameters]
        if kind or own.endswith("Impl"):  # an option may have another name than its parameter
            fields = [re.search(r"[:,] (\w+?)_?\((?:std::move\()?" + re.escape(name) + r"\b", text) for name in names]
            names = [field.group(1) if field else name for field, name in zip(fields, names)]
        converts = len(names) == 1 and "explicit " not in text and not kind
        return f"Constructs {made} {'from' if converts else 'with the given'} {sequence(names)}."

    def lineage(self, own):
        """Yields the class and its bases."""
        yield own
        if own in self.classes:
            for base in bases_of(" ".join(self.classes[own].text.split())):
                if base != own:  # a class of the same name in another namespace
                    yield from self.lineage(base)

    def inherited(self, own, name):
        """Returns the comment of the member of this name in the class or in the nearest base that has one."""
        return next((self.methods[base, name] for base in self.lineage(own) if (base, name) in self.methods), "")

    def plain(self, name):
        """Returns the comment of a function of namespace tandem, or else of a method of Tensor."""
        return self.functions.get(name) or self.inherited("Tensor", name)

    def of_method(self, name):
        """Methods of Tensor: f() has the comment of the function f(), and f_() too."""
        for plain in (name, name[:-1]):
            said = self.plain(plain)
            if said and plain in self.of_tensors:
                form = (f"Method form of tandem::{plain}(): this tensor is the first argument." if plain == name else
                        f"In-place version of tandem::{plain}(): overwrites this tensor, the first argument.")
                return paragraphs(said, form)
            if said:
                return paragraphs(said, "" if plain == name else f"In-place version of {plain}().")
        return ""

    def of_another(self, d, text):
        """Functions that only call another one, and overloads, f_() and f_out() of a function f() with a comment."""
        name = d.name()
        calls = re.search(r"\{ return ((?:[^{}]|\{\})*); \}$", text)
        if calls:
            called = re.match(r"(?:(?:\w+::)*|x\.|a\.)(\w+?)(?:_out|_)?\(", calls.group(1))
            said = self.plain(called.group(1)) if called else ""
            if said or name.startswith("forward"):
                return paragraphs(f"Returns `{calls.group(1)}`.", said)
        if not d.in_class():
            for end in ("", "_", "_out"):
                plain = name[:len(name) - len(end)]
                said = self.plain(plain)
                if plain and name == plain + end and said:
                    return said  # comment() adds which form it is
        return ""
