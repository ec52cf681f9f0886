#!/usr/bin/env python3
"""Finds comments that a reader who is new to the code is likely to stumble over, by patterns of wording. It is a hint, no
proof: a comment that it does not flag may still be a riddle.

usage: plain_words.py [--list N] [--since COMMIT] [--most PERCENT]
  --list N         prints N of the flagged comments (default 20)
  --since COMMIT   reads only the comments on lines that have changed since COMMIT
  --most PERCENT   fails if more than this share is flagged"""
import argparse
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDERS = "core emulation kernels autograd ops nn optim data serialize logs parallel train models benchmarks examples tools".split()
SENTENCE = r"(?:^|(?<=[.:;] ))"
PATTERNS = [
    ("begins with a preposition before the noun is known",
     SENTENCE + r"(?:Of|By|Beside|Between|Behind|Without|Where) [^.;:]{0,80}?\b(?:what|which|that|those|there|is|are|has|have)\b"),
    ("begins with a pronoun in place of the noun",
     r"^(?:Which|That|These|Both|The same|Such|Its) |" + SENTENCE + r"(?:What|Those|Whoever|Whatever) "),
    ("ends a clause in 'of which' or 'of whom'", r",? (?:of|than|beside|behind) (?:which|whom|what|those)\b"),
    ("'what' in place of a noun",
     r"\b(?:of|to|by|for|from|with|beside|as|than|and|or|but|are|is) what\b|\bwhat (?:comes?|came|goes|lies|runs?|reads?|stands?|others?)\b"),
    ("'that of', 'than that': the noun is missing", r"\b(?:that of|those of|than that|as that|is that of|by that|does that|to that|with that)(?=[ .,;:])(?! (?:the|a|an) )"),
    ("an everyday word where the field has a term",
     r"\b(?:one behind the other|such a one|in the place of|whatever|wherever|beforehand|anew|for ever|that many|so many)\b"),
]


def comments(text):
    """Tuples (first line, last line, words) of the comments in a source: blocks of lines, and longer ones behind code."""
    lines = text.split("\n")
    i = 0
    while i < len(lines):
        if not re.match(r"\s*//", lines[i]):
            if behind := re.match(r".*\S\s+// (.{25,})$", lines[i]):
                yield i + 1, i + 1, behind[1]
            i += 1
            continue
        first, words = i, []
        while i < len(lines) and (line := re.match(r"\s*///?<?\s?(.*)", lines[i])):
            words.append(line[1])
            i += 1
        joined = " ".join(words)
        if len(joined.split()) >= 6 and "----" not in joined:
            yield first + 1, i, joined


def changed_lines(commit):
    out = subprocess.run(["git", "diff", "-U0", commit], cwd=ROOT, encoding="utf8", errors="replace", capture_output=True, check=True).stdout
    lines, name = {}, None
    for line in out.split("\n"):
        if line.startswith("+++ b/"):
            name = line[6:]
        elif hunk := re.match(r"@@ .* \+(\d+)(?:,(\d+))? @@", line):
            lines.setdefault(name, set()).update(range(int(hunk[1]), int(hunk[1]) + int(hunk[2] or 1)))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", type=int, default=20)
    parser.add_argument("--since")
    parser.add_argument("--most", type=float, default=100)
    args = parser.parse_args()
    changed = changed_lines(args.since) if args.since else None
    names = subprocess.run(["git", "ls-files", *FOLDERS], cwd=ROOT, encoding="utf8", errors="replace", capture_output=True, check=True).stdout
    total, flagged = 0, []
    for name in names.split("\n"):
        if not name.endswith((".h", ".cpp", ".cu", ".cuh")):
            continue
        with open(os.path.join(ROOT, name), encoding="utf8") as file:
            text = file.read()
        for first, last, words in comments(text):
            if changed is not None and not changed.get(name, set()).intersection(range(first, last + 1)):
                continue
            total += 1
            if why := [label for label, pattern in PATTERNS if re.search(pattern, words)]:
                flagged.append(f"{name}:{first}: {'; '.join(why)}\n    {words[:300]}")
    print("\n".join(flagged[:args.list]))
    share = 100 * len(flagged) / max(total, 1)
    print(f"{len(flagged)} of {total} comments flagged, {share:.1f} %; accepted: {args.most:g} %")
    return share > args.most


if __name__ == "__main__":
    sys.exit(main())
