#!/usr/bin/env python3
"""Compares Tandem's tokenizers with Hugging Face's tokenizers on many lines, and on every code point.

  tokenizer_lines.py [--program build/release/tests/tokenizer_program] [--root FOLDER] [--lines N]

Needs the Python package tokenizers. The lines come from Debian packages (PACKAGES below), from files below --root (default: /).
Each line is encoded alone and as a pair with the next line, cased and uncased, with each max_length from 3 to 64 in turn, and
decoded again. IDs, type IDs, masks, texts and errors must be equal. Then each code point is encoded alone and between letters.
The tables of Hugging Face's normalizer are of an older Unicode than utf8proc's, so some code points differ:
tokenizer_code_points.txt lists them, and lines that contain one are left out. --write rewrites that list.

The last line says how many lines differ. The exit status is 1 if any does, or if the list of code points is not exact.
"""
import argparse
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unicodedata

os.environ["TOKENIZERS_PARALLELISM"] = "false"
import tokenizers  # noqa: E402
from tokenizers import AddedToken, Tokenizer, decoders, normalizers, pre_tokenizers, processors  # noqa: E402
from tokenizers.models import WordPiece  # noqa: E402
from tokenizers.trainers import WordPieceTrainer  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CODE_POINTS = pathlib.Path(__file__).resolve().parent / "tokenizer_code_points.txt"
# Debian packages, with the files that hold their texts. The files of bible-kjv-text are compressed; `bible` prints them.
PACKAGES = {
    "fortunes-*": "usr/share/games/fortunes/**/*",
    "manpages": "usr/share/man/man*/*.gz",
    "debian-reference-en": "usr/share/debian-reference/*.txt.gz",
    "bible-kjv, bible-kjv-text": "usr/bin/bible",
}
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LENGTHS = range(3, 65)
BATCH = 20000  # questions in one run of the program


# ---------------------------------------------------------------- lines
def text_of(path, root):
    if path.name == "bible":
        data = root / "usr/lib/bible.data"
        return subprocess.run([path, "-p", data.parent, "-f", "gen1:1-rev22:21"], capture_output=True).stdout if data.exists() else b""
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes())
    if path.suffix in (".dat", ".u8") or path.is_symlink():
        return b""
    return path.read_bytes()


def read_lines(root, limit, extra):
    lines, counts = {}, {}
    files = [(package, path) for package, pattern in PACKAGES.items() for path in sorted(root.glob(pattern)) if path.is_file()]
    for package, path in files + [("--text", pathlib.Path(p)) for p in extra]:
        found = text_of(path, root).decode("utf-8", "replace").split("\n")
        found = [line.rstrip("\r") for line in found if line.strip()]
        counts[package] = counts.get(package, 0) + len(found)
        lines.update(dict.fromkeys(found))
    for package, count in counts.items():
        print(f"{package}: {count:,} lines")
    for package in PACKAGES.keys() - counts.keys():
        print(f"{package}: not installed")
    lines = list(lines)
    return lines[::max(1, len(lines) // limit)] if limit else lines


# ---------------------------------------------------------------- tokenizers
def finish(tokenizer, lowercase, pattern="bert"):
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer


def add_template(tokenizer):
    pairs = [(t, tokenizer.token_to_id(t)) for t in ("[SEP]", "[CLS]")]
    tokenizer.post_processor = processors.BertProcessing(*pairs)
    return tokenizer


def trained(lines, lowercase):
    """Returns a tokenizer whose vocabulary comes from the lines, with added tokens of all kinds."""
    tokenizer = finish(Tokenizer(WordPiece(unk_token="[UNK]")), lowercase)
    tokenizer.train_from_iterator(lines[::5], WordPieceTrainer(vocab_size=20000, special_tokens=SPECIAL, show_progress=False))
    tokenizer.add_tokens([AddedToken("debian", normalized=True), AddedToken("the lord", normalized=True, single_word=True),
                          AddedToken("<left>", lstrip=True), AddedToken("und", single_word=True, normalized=False),
                          AddedToken("  ", rstrip=True, normalized=False)])
    return add_template(tokenizer)


def of_characters(lowercase):
    """Returns a tokenizer that has each character as a token, so that no character is hidden by [UNK]."""
    characters = [chr(c) for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cs", "Co", "Cn")]
    tokens = [*SPECIAL, *characters, *("##" + c for c in characters)]
    tokenizer = finish(Tokenizer(WordPiece({t: i for i, t in enumerate(tokens)}, unk_token="[UNK]")), lowercase)
    tokenizer.add_special_tokens(SPECIAL)
    return add_template(tokenizer)


def answers_of(program, path, questions):
    """Returns the lines that Tandem's program prints, one for each question."""
    out = []
    for at in range(0, len(questions), BATCH):
        asked = "".join(json.dumps(q) + "\n" for q in questions[at:at + BATCH])
        done = subprocess.run([program, path], input=asked.encode(), capture_output=True)
        if done.returncode:
            sys.exit(f"{program} ended with status {done.returncode}: {done.stderr.decode(errors='replace')}")
        out += done.stdout.decode().split("\n")[:-1]
    assert len(out) == len(questions), (len(out), len(questions))
    return out


def reference(tokenizer, question):
    """Returns the same line by Hugging Face's tokenizers."""
    if "ids" in question:
        return json.dumps(tokenizer.decode(question["ids"], skip_special_tokens=question["skip_special_tokens"]), ensure_ascii=False)
    if "max_length" in question:
        wanted = {"max_length": question["max_length"], "strategy": question["truncation"]}
        if not tokenizer.truncation or any(tokenizer.truncation[k] != v for k, v in wanted.items()):
            tokenizer.enable_truncation(**wanted)
    else:
        tokenizer.no_truncation()
    try:
        e = tokenizer.encode(question["text"], question.get("pair"))
    except Exception as error:  # the package raises no narrower type
        return "error" if "runcation" in str(error) else f"error {error}"
    return "\t".join(" ".join(map(str, numbers)) for numbers in (e.ids, e.type_ids, e.attention_mask, e.special_tokens_mask))


def same(question, ours, theirs):
    if "ids" in question and not ours.startswith("error"):
        return json.loads(ours) == json.loads(theirs)
    return ours == theirs or (theirs == "error" and ours.startswith("error: encode: truncation is "))


def compare(program, tokenizer, folder, questions, what):
    """Returns the questions whose answers differ."""
    path = pathlib.Path(folder) / f"{what.split()[0]}.json"
    tokenizer.no_truncation()
    tokenizer.save(str(path))
    ours = answers_of(program, path, questions)
    differ = []
    for question, answer in zip(questions, ours):
        theirs = reference(tokenizer, question)
        if not same(question, answer, theirs):
            differ.append((question, answer, theirs))
    print(f"{what}: {len(questions):,} compared, {len(differ):,} differ", flush=True)
    return differ


# ---------------------------------------------------------------- questions
def questions_of(lines):
    """Yields each line alone and as a pair, in full and truncated, with each max_length and strategy in turn."""
    strategies = ["longest_first", "longest_first", "only_first", "only_second"]
    out = []
    for i, line in enumerate(lines):
        pair = lines[(i + 1) % len(lines)]
        length, strategy = LENGTHS[i % len(LENGTHS)], strategies[i // len(LENGTHS) % len(strategies)]
        out.append({"text": line})
        out.append({"text": line, "max_length": length, "truncation": "longest_first"})
        out.append({"text": line, "pair": pair, "max_length": length, "truncation": strategy})
    # Questions of one length follow each other, because the package sets the length of a tokenizer, not of a call.
    return sorted(out, key=lambda q: (q.get("max_length", 0), q.get("truncation", "")))


def decoding_questions(tokenizer, lines):
    tokenizer.no_truncation()
    return [{"ids": tokenizer.encode(line).ids, "skip_special_tokens": i % 2 == 0} for i, line in enumerate(lines)]


def name_of(c):
    return f"U+{c:04X} {unicodedata.category(chr(c))} {unicodedata.name(chr(c), '(no name)')}"


def compare_code_points(program, folder):
    """Returns the code points that are treated differently."""
    differ = set()
    points = [c for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000]
    for lowercase in (False, True):
        questions = [{"text": chr(c) + " a" + chr(c) + "b"} for c in points]
        found = compare(program, of_characters(lowercase), folder, questions,
                        f"{'uncased' if lowercase else 'cased'} code points, alone and between letters")
        differ |= {ord(question["text"][0]) for question, *_ in found}
    return differ


def listed_code_points():
    lines = CODE_POINTS.read_text().splitlines() if CODE_POINTS.exists() else []
    return {int(line.split()[0][2:], 16) for line in lines if line.startswith("U+")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build/release/tests/tokenizer_program", type=pathlib.Path)
    parser.add_argument("--root", default="/", type=pathlib.Path, help="folder below which the packages are")
    parser.add_argument("--text", action="append", default=[], metavar="FILE", help="also compares the lines of this file")
    parser.add_argument("--lines", type=int, default=0, help="compare about this number of lines instead of all")
    parser.add_argument("--skip-code-points", action="store_true")
    parser.add_argument("--write", action="store_true", help=f"rewrite {CODE_POINTS.name}")
    options = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        listed = listed_code_points()
        if not options.skip_code_points:
            differ = compare_code_points(options.program, folder)
            if options.write:
                CODE_POINTS.write_text("".join([
                    "# Code points that Hugging Face's tokenizers and Tandem treat differently, because their Unicode tables are of\n",
                    "# different versions. tokenizer_lines.py --write writes this list, with Python's names.\n",
                    *(name_of(c) + "\n" for c in sorted(differ))]))
                listed = differ
            for c in sorted(differ ^ listed)[:20]:
                print(f"{name_of(c)}: {'differs, but is not listed' if c in differ else 'is listed, but does not differ'}")
            failures += len(differ ^ listed)
            print(f"{len(differ):,} code points differ, {len(differ ^ listed):,} unlike {CODE_POINTS.name}")
        lines = read_lines(options.root, options.lines, options.text)
        characters = set(map(chr, listed))
        kept = [line for line in lines if not characters.intersection(line)]
        print(f"{len(lines):,} different lines, {len(lines) - len(kept):,} left out because of listed code points")
        total = 0
        for lowercase in (False, True):
            tokenizer, kind = trained(kept, lowercase), "uncased" if lowercase else "cased"
            for questions, what in ((questions_of(kept), "lines alone, truncated, in pairs"),
                                    (decoding_questions(tokenizer, kept), "lines decoded")):
                found = compare(options.program, tokenizer, folder, questions, f"{kind} {what}")
                total += len(questions)
                failures += len(found)
                for question, ours, theirs in found[:5]:
                    print(f"  {json.dumps(question, ensure_ascii=False)}\n    Tandem:     {ours}\n    tokenizers: {theirs}")
    print(f"{len(kept):,} lines, {total:,} comparisons with tokenizers {tokenizers.__version__}: {failures:,} differ")
    return 1 if failures or not kept else 0


if __name__ == "__main__":
    sys.exit(main())
