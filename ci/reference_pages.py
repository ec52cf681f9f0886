"""reference_pages.py OUT: copies README.md, CONTRIBUTING.md and docs/*.md with links that Doxygen can follow.

GitHub makes an anchor for each heading; Doxygen needs explicit anchors. A link to a file that is no page becomes text.
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def anchor(page, heading):
    """Returns the ID of a heading: GitHub's, after the page's name, because the IDs of all pages share one list."""
    words = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
    return page.lower() + "-" + words


def linked(text, pages):
    def link(found):
        words, target = found.groups()
        path, _, fragment = target.partition("#")
        name = os.path.basename(path)
        if re.match(r"\w+:", target):
            return found.group()
        if fragment or not path:
            return f"[{words}](@ref {(os.path.splitext(name)[0] if path else page).lower()}-{fragment})"
        if name in pages:
            return f"[{words}]({name})"
        path = "`" + target.lstrip("./") + "`"
        return path if words.endswith(target.lstrip("./")) else f"{words} ({path})"

    page = pages["now"]
    out, code = [], False
    for line in text.split("\n"):
        if line.startswith("```"):
            code = not code
        if not code and re.match(r"##+ ", line):
            line += " {#" + anchor(page, line.lstrip("# ")) + "}"
        out.append(line if code else re.sub(r"\[([^\]]*)\]\(([^)\s]+)\)", link, line))
    return "\n".join(out)


def main():
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    paths = ["README.md", "CONTRIBUTING.md"]
    paths += ["docs/" + name for name in sorted(os.listdir(os.path.join(ROOT, "docs"))) if name.endswith(".md")]
    pages = {os.path.basename(path): path for path in paths}
    for name, path in pages.copy().items():
        with open(os.path.join(ROOT, path)) as file:
            text = file.read()
        pages["now"] = os.path.splitext(name)[0]
        with open(os.path.join(out, name), "w") as file:
            file.write(linked(text, pages))


if __name__ == "__main__":
    main()
