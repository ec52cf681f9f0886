#!/usr/bin/env python3
"""Compares sentence_embeddings with Hugging Face's tokenizers and transformers: the tokens, the vectors and the speed.

usage: compare.py PROGRAM MODEL_FOLDER [--lines N] [--characters] [--repeats R] [--threads T] [--json FILE]

Needs torch, transformers, tokenizers and numpy. Fails if the tokens of a line differ, or a vector differs by more than 1e-5.
With --characters, it also compares the tokens of each Unicode character by itself.
With --repeats, both programs encode the same 1,000 English sentences R times, in turns, with T threads each. The time of the
program does not include its start and loading the model; PyTorch stays loaded.
"""
import argparse
import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import time
import unicodedata

SCRIPTS = ["the quick brown fox jumps over lazy dogs", "naïve façade Ångström crème brûlée ǖệǬ ŉ ß ſ", "Ελλάδα ΟΔΟΣ ᾳ Ωμέγα",
           "Привет мир Ёлка Йод", "שָׁלוֹם עולם", "السَّلَام عليكم", "नमस्ते दुनिया क़", "สวัสดีชาวโลก น้ำ", "你好世界漢字", "こんにちは カタカナ がぎぐ ｶﾞ",
           "안녕하세요 세계", "𠀀𪜀﨎㍿〇", "தமிழ் తెలుగు ಕನ್ನಡ മലയാളം ৰাংলা", "ქართული Հայերեն አማርኛ ខ្មែរ မြန်မာ", "İstanbul ıiIİ Diyarbakır",
           "🙂🚀 👩‍👩‍👧 🇩🇪 ❤️ 1️⃣ 🫠", "a\u0301e\u0323\u0307o\u0328\u0304 \u0302 q\u0307\u0323", "\x00\x07\x0b\x0c\x1b\x7f\x85 \u200b\u200d\ufeff\u00ad\ufffd\ue000",
           "\t\r \u00a0\u2009\u2028\u2029\u3000", "3.14 1,000,000 ½ ² ٣ Ⅷ 2026-11-24 $5.00 100%", "«»„“‘’…–—‐¿¡§¶ ()[]{}<>|\\^`~@#&*_=+",
           "[MASK] [mask] [CLS] [SEP] [PAD] [UNK] [ MASK ] [[MASK]]", "𝒜𝓁𝓅𝒽𝒶 ﬁﬂ Ⓐ ａｂｃ", "\u302e\u302f\U0001d15e\U0001d1bb \u0378 \U000e0041"]


def is_settled(c):
    """Returns whether a character has had its category since Unicode 3.2. For such characters Hugging Face's Unicode table, of
    2015, and utf8proc's, which Tandem uses, agree."""
    return unicodedata.ucd_3_2_0.category(c) == unicodedata.category(c) not in ("Cn", "Cs")


SETTLED = [chr(c) for c in range(1, 0x30000) if is_settled(chr(c))]


def mixed_lines(count):
    """Returns lines of many scripts. Some are empty, have words longer than a tokenizer accepts, or more tokens than the model."""
    r = random.Random(7)
    lines = ["", " ", "x" * 100, "x" * 101, "é" * 100, "hello " * 400, "字" * 300, "[MASK]" * 300, "a" * 5000, "\u0301" * 150]
    while len(lines) < count:
        parts = []
        for _ in range(r.randint(1, 8)):
            script = r.choice(SCRIPTS)
            if r.random() < 0.5:
                parts.append(r.choice(script.split(" ")))
            else:
                parts.append("".join(r.choice(script) for _ in range(r.randint(1, 12))))
        if r.random() < 0.1:
            parts.append("".join(r.choice(SETTLED) for _ in range(6)))
        if r.random() < 0.05:
            parts.append(r.choice("xé字") * r.randint(95, 130))
        lines.append(r.choice(["", " ", " "]).join(parts).replace("\n", " "))
    return lines[:count]


def sentences(folder, count):
    """Returns random sentences of 5 to 30 English words from the vocabulary."""
    r = random.Random(11)
    words = [w for w in (folder / "vocab.txt").read_text("utf-8").split("\n")[1996:8000] if re.fullmatch("[a-z]{2,}", w)]
    return [" ".join(r.choice(words) for _ in range(r.randint(5, 30))).capitalize() + "." for _ in range(count)]


class Peer:
    """The model in PyTorch, used in the same way as by sentence-transformers."""

    def __init__(self, folder, threads):
        import torch
        import transformers
        from tokenizers import Tokenizer

        self.torch = torch
        torch.set_num_threads(threads)
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(json.loads((folder / "sentence_bert_config.json").read_text())["max_seq_length"])
        self.model = transformers.BertModel.from_pretrained(folder, add_pooling_layer=False).eval()

    def tokens(self, lines):
        return [e.ids for e in self.tokenizer.encode_batch(lines)]

    def encode(self, lines, batch_size):
        torch, out = self.torch, [None] * len(lines)
        ids = self.tokens(lines)
        order = sorted(range(len(lines)), key=lambda i: -len(ids[i]))
        with torch.inference_mode():
            for at in range(0, len(order), batch_size):
                batch = order[at:at + batch_size]
                longest = len(ids[batch[0]])
                x = torch.tensor([ids[i] + [0] * (longest - len(ids[i])) for i in batch])
                mask = torch.tensor([[1] * len(ids[i]) + [0] * (longest - len(ids[i])) for i in batch])
                hidden = self.model(input_ids=x, attention_mask=mask).last_hidden_state
                weight = mask.unsqueeze(-1).float()
                mean = (hidden * weight).sum(1) / weight.sum(1)
                for i, v in zip(batch, torch.nn.functional.normalize(mean)):
                    out[i] = v
        return torch.stack(out).numpy()


class Program:
    def __init__(self, program, folder, threads):
        self.command, self.environment = [program, str(folder)], os.environ | {"TANDEM_NUM_THREADS": str(threads)}

    def run(self, lines, *options):
        text = "".join(line + "\n" for line in lines).encode("utf-8")
        done = subprocess.run(self.command + list(options), input=text, capture_output=True, env=self.environment)
        if done.returncode != 0:
            sys.exit(f"compare.py: {self.command[0]} failed: {done.stderr.decode()}")
        return done.stdout.decode(), done.stderr.decode()

    def tokens(self, lines):
        return [[int(x) for x in row.split()] for row in self.run(lines, "--tokens")[0].splitlines()]

    def seconds(self, lines, batch_size):
        return float(re.search(r" in ([0-9.]+) s", self.run(lines, "--time", "--batch-size", str(batch_size))[1])[1])


def compare_tokens(peer, ours, lines):
    theirs = peer.tokens(lines)
    wrong = [i for i, (a, b) in enumerate(zip(theirs, ours.tokens(lines), strict=True)) if a != b]
    print(f"tokens: {len(lines)} lines, {sum(map(len, theirs))} tokens, {len(wrong)} lines differ")
    for i in wrong[:5]:
        print(f"  {lines[i]!r}\n    Hugging Face {theirs[i]}\n    Tandem       {ours.tokens([lines[i]])[0]}")
    return not wrong


def compare_characters(peer, ours):
    """Compares the tokens of every Unicode character, assigned or not, placed between two letters."""
    characters = [chr(c) for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000 and c != 10]
    lines = [f"a{c}b" for c in characters]
    wrong = [c for c, a, b in zip(characters, peer.tokens(lines), ours.tokens(lines), strict=True) if a != b]
    settled = [c for c in wrong if is_settled(c)]
    print(f"characters: {len(characters)}, of which {len(wrong)} give other tokens, {len(settled)} of them unchanged since Unicode 3.2")
    return not settled


def compare_vectors(peer, ours, lines):
    import numpy as np

    theirs = peer.encode(lines, 32)
    mine = np.array([[float(x) for x in row.split()] for row in ours.run(lines)[0].splitlines()])
    difference = float(np.abs(theirs - mine).max())
    print(f"vectors: {mine.shape[0]} of {mine.shape[1]} numbers, the largest difference is {difference:.2g}")
    return difference <= 1e-5


def compare_speed(peer, ours, lines, repeats):
    rows = []
    for batch_size in (1, 32):
        times = {"tandem": [], "pytorch": []}
        peer.encode(lines[:100], batch_size)
        for _ in range(repeats):
            start = time.perf_counter()
            peer.encode(lines, batch_size)
            times["pytorch"].append(time.perf_counter() - start)
            times["tandem"].append(ours.seconds(lines, batch_size))
        per_second = {k: len(lines) / statistics.median(v) for k, v in times.items()}
        print(f"batches of {batch_size:2}: Tandem {per_second['tandem']:.0f} sentences a second, PyTorch {per_second['pytorch']:.0f}, "
              f"ratio {per_second['tandem'] / per_second['pytorch']:.2f}")
        rows.append({"batch_size": batch_size, "sentences": len(lines), "seconds": times, "per_second": per_second})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--characters", action="store_true")
    parser.add_argument("--repeats", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    try:
        import numpy, tokenizers, torch, transformers  # noqa: E401, F401
    except ImportError as e:
        print(f"SKIPPED: {sys.executable} has no {e.name}")
        return 77
    peer, ours = Peer(args.folder, args.threads), Program(args.program, args.folder, args.threads)
    lines = mixed_lines(args.lines)
    right = compare_tokens(peer, ours, lines) & compare_vectors(peer, ours, lines)
    if args.characters:
        right &= compare_characters(peer, ours)
    if args.repeats:
        rows = compare_speed(peer, ours, sentences(args.folder, 1000), args.repeats)
        if args.json:
            args.json.write_text(json.dumps({"torch": torch.__version__, "transformers": transformers.__version__,
                                             "tokenizers": tokenizers.__version__, "threads": args.threads, "speed": rows}, indent=1))
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
