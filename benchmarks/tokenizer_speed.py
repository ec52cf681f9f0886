#!/usr/bin/env python3
"""Measures how many lines a second of processor time encode, on one thread, by Tandem and by Hugging Face's tokenizers.

  tokenizer_speed.py TOKENIZER LINES [--program build/release/tests/tokenizer_program] [--seconds 5] [--rounds 5]

TOKENIZER is a folder with tokenizer.json, or such a file; LINES is a text file. The two take turns. Both encode with special
tokens and without padding; of tokenizers, the faster of encode() in a loop and encode_batch() counts. Prints the median and
the extremes of the rounds. Needs the Python package tokenizers.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import time

os.environ |= {"RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "TANDEM_NUM_THREADS": "1"}
import tokenizers  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent


def measured(encode, lines, seconds):
    begin, encoded = time.process_time(), 0
    while (passed := time.process_time() - begin) < seconds:
        encode(lines)
        encoded += len(lines)
    return encoded / passed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizer", type=pathlib.Path)
    parser.add_argument("lines", type=pathlib.Path)
    parser.add_argument("--program", default=ROOT / "build/release/tests/tokenizer_program")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    path = options.tokenizer / "tokenizer.json" if options.tokenizer.is_dir() else options.tokenizer
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    text = options.lines.read_text(errors="replace")
    lines = text.split("\n")[:-1] if text.endswith("\n") else text.split("\n")
    ways = {"encode": lambda lines: [tokenizer.encode(line) for line in lines], "encode_batch": tokenizer.encode_batch}
    if hasattr(tokenizer, "encode_batch_fast"):
        ways["encode_batch_fast"] = tokenizer.encode_batch_fast
    figures = {"Tandem": [], **{f"tokenizers {tokenizers.__version__}, {way}": [] for way in ways}}
    for _ in range(options.rounds):
        done = subprocess.run([options.program, options.tokenizer, str(options.seconds)], input=text.encode(),
                              capture_output=True, check=True)
        figures["Tandem"].append(float(done.stdout.split()[0]))
        for way, encode in ways.items():
            figures[f"tokenizers {tokenizers.__version__}, {way}"].append(measured(encode, lines, options.seconds))
    for name, values in figures.items():
        print(f"{name:<40}{statistics.median(values):>12,.0f} lines/s   ({min(values):,.0f} to {max(values):,.0f})")
    best = max(statistics.median(v) for name, v in figures.items() if name != "Tandem")
    print(f"Tandem / tokenizers: {statistics.median(figures['Tandem']) / best:.2f}, {len(lines):,} lines")


if __name__ == "__main__":
    main()
