#!/usr/bin/env python3
"""`./run soak`: runs tests that are too long for CI, part by part, and records each run.

  soak.py [PART...]    runs these parts, or all; one that has passed at this commit is not repeated, unless --again
  soak.py --list       the parts: what each runs, for how long at most, and when it last ran
  soak.py --document   writes docs/soak.md from the records;  --check: whether it is what they say

A part that is stopped leaves no record, and is the next to run. Records are lines of tests/soak/records.jsonl, which is
committed; what a part printed is build/soak/PART.log.
"""
import argparse
import datetime
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
RECORDS = ROOT / "tests/soak/records.jsonl"
DOCUMENT = ROOT / "docs/soak.md"
LOGS = ROOT / "build/soak"
# Percentages of random programs: the minimum that agree or differ as intended, and the maximum that differ as intended.
ENOUGH_AGREE, MOST_WANTED = 99.7, 1.5
ENOUGH_LINES = 100000  # different lines that tokenizers must agree on


# ---------------------------------------------------------------- reading a part's output: figures and failures
def judge_differential(status, text):
    found = re.findall(r"(\d+) programs of seed (\S+): (\d+) agree \([\d.]+ %; (\d+) of them with a second run of PyTorch\), "
                       r"(\d+) differ as intended .*?, (\d+) differ;", text)
    if not found:
        return {}, f"ended with status {status} without a summary"
    programs, seed, agree, second, wanted, differ = found[-1]
    could_not = re.search(r"^(\d+) programs could not be run", text, re.M)
    figures = {"programs": int(programs), "seed": seed, "agree": int(agree), "of a second run": int(second),
               "wanted": int(wanted), "differ": int(differ), "not run": int(could_not[1]) if could_not else 0}
    total = figures["programs"] + figures["not run"]
    alike, as_wanted = (100 * n / max(total, 1) for n in (figures["agree"] + figures["wanted"], figures["wanted"]))
    if alike < ENOUGH_AGREE:
        return figures, f"{alike:.2f} % agree or differ as intended; required: {ENOUGH_AGREE} %"
    if as_wanted > MOST_WANTED:
        return figures, f"{as_wanted:.2f} % differ as intended; allowed: {MOST_WANTED} %"
    return figures, ""


def judge_faults(status, text):
    found = re.findall(r"^(\d+) violations", text, re.M)
    if not found:
        return {}, f"ended with status {status} without a summary"
    figures = {"violations": int(found[-1])}
    rows = re.findall(r"^(\S.*?) {2,}(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+)$", text, re.M)
    if rows:
        figures.update({"trials": sum(int(r[1]) for r in rows), "survivors": sum(int(r[2]) for r in rows),
                        "worst ms": max(int(r[4]) for r in rows if "kill" in r[0] or len(rows) == 1)})
    jobs = re.search(r"(\d+) jobs under .*?: (\d+) ranks killed, (\d+) restarts, (\d+) of them", text)
    if jobs:
        figures.update(zip(("jobs", "ranks killed", "restarts", "from a checkpoint"), map(int, jobs.groups())))
    return figures, f"{found[-1]} violations" if status or int(found[-1]) else ""


def judge_fuzz(status, text):
    runs = [int(n) for n in re.findall(r"stat::number_of_executed_units: *(\d+)", text)]
    return {"inputs": sum(runs), "targets": len(runs)}, f"ended with status {status}" if status or not runs else ""


def judge_disturbances(status, text):
    found = re.findall(r"^(\w+): (\d+) of (\d+) right, (\d+) with a wrong name", text, re.M)
    figures = {f"{name} of {runs}": int(right) for name, right, runs, _ in found}
    figures["wrong names without a disturbance"] = sum(int(wrong) for name, _, _, wrong in found if name == "none")
    return figures, f"ended with status {status}" if status or not found else ""


def judge_catch(status, text):
    found = re.findall(r"All tests passed \((\d+) assertions? in (\d+) test cases?\)", text)
    figures = {"assertions": sum(int(a) for a, _ in found), "test cases": sum(int(c) for _, c in found)}
    return figures, f"ended with status {status}" if status or not found else ""


def judge_language_models(status, text):
    found = re.findall(r"^(\d+) differences$", text, re.M)
    figures = {"differences": int(found[-1])} if found else {}
    for name, loss, gradient in re.findall(r"^(\w+): \d+ parameters; .*?relative error ([\d.e+-]+); .*?error ([\d.e+-]+)", text, re.M):
        figures.update({f"{name} loss": loss, f"{name} gradients": gradient})
    return figures, "" if status == 0 and figures.get("differences") == 0 else f"ended with status {status}"


def judge_tokenizers(status, text):
    found = re.findall(r"^([\d,]+) lines, ([\d,]+) comparisons with .*: ([\d,]+) differ$", text, re.M)
    if not found:
        return {}, f"ended with status {status} without a summary"
    figures = dict(zip(("lines", "comparisons", "differ"), (sum(int(row[i].replace(",", "")) for row in found) for i in range(3))))
    points = re.findall(r"^([\d,]+) code points differ, ([\d,]+) unlike", text, re.M)
    figures["code points of other Unicode versions"] = sum(int(n.replace(",", "")) for n, _ in points)
    if figures["lines"] < ENOUGH_LINES:
        return figures, f"{figures['lines']:,} lines; required: {ENOUGH_LINES:,}. tests/soak/tokenizer_lines.py names Debian packages"
    return figures, f"{figures['differ']} differ" if status or figures["differ"] else ""


def judge_sanitizers(status, text):
    found = re.findall(r"(\d+) tests failed out of (\d+)", text)
    figures = {"programs": sum(int(n) for _, n in found), "failed": sum(int(n) for n, _ in found)}
    return figures, f"ended with status {status}" if status or not found else ""


class Part:
    def __init__(self, name, what, command, hours, judge, sample):
        self.name, self.what, self.hours, self.judge, self.sample = name, what, hours, judge, sample
        self.commands = command if isinstance(command[0], list) else [command]

    def filled(self, seed):
        """Returns the commands with SEED replaced by `seed`, which differs for each commit."""
        return [[word.replace("SEED", str(seed)) for word in command] for command in self.commands]


def parts():
    binaries = "build/release/tests/"
    return [
        *[Part(f"differential-{i}", "50,000 random programs under Tandem and under PyTorch",
               ["./run", "differential", "--programs", "50000", "--seed", f"SEED{i}"], 6, judge_differential,
               "the recorded programs of tests/differential/corpus.jsonl, on the CPU and on an emulated GPU")
          for i in (1, 2, 3)],
        Part("faults", "200 ranks killed or stopped at random, with `tandem launch` and without a launcher, and garbage sent "
             "to the store", ["./run", "faults", "--kills", "200", "--seed", "SEED"], 2, judge_faults, "seven of them"),
        Part("restarts", "200 ranks killed in jobs that start again, whose results are those of jobs without faults",
             ["./run", "faults", "--kills", "200", "--seed", "SEED", "--max-restarts", "3"], 3, judge_faults, "three of them"),
        Part("trainer-restarts", "100 ranks killed in jobs of the Trainer that start again, whose results are those of jobs without "
             "faults", ["./run", "faults", "--kills", "100", "--seed", "SEED", "--max-restarts", "3", "--trainer", "1"], 3,
             judge_faults, "three of them"),
        Part("fuzz", "libFuzzer, ten minutes for each target: IDX files, CSV files, labelled texts, token files, "
             "tokenizer.json, byte-level BPE, archives, the store's protocol",
             ["./run", "fuzz", "600"], 1, judge_fuzz, "the inputs of tests/fuzz/corpus, and 100,000 changed files"),
        Part("collectives", "every collective against its oracle: all dtypes, sizes and numbers of ranks",
             [binaries + "distributed_test", "[full]"], 2, judge_catch,
             "two ranks with all dtypes, one to eight with two, and a million elements with two numbers of ranks"),
        Part("tokenizers", "lines of many languages and every code point, encoded and decoded by Tandem and by Hugging Face's "
             "tokenizers", ["tests/soak/tokenizer_lines.sh"], 2, judge_tokenizers,
             "some lines of many scripts, truncations, and added tokens (tests/fixtures/tokenizers.json, wordpiece.json)"),
        Part("tokenizers-gpt2", "lines of many languages and every character, encoded with GPT-2's vocabulary and decoded by Tandem "
             "and by Hugging Face's tokenizers", ["tests/soak/gpt2_lines.sh"], 1, judge_tokenizers,
             "some lines of many scripts with a small vocabulary, and the class of every character (tests/fixtures/bpe.json)"),
        Part("disturbances", "`tandem compare` disturbed in five ways, twenty times each: whether its diagnosis names the disturbance",
             ["tests/tools/disturbances.py", "--runs", "20"], 2, judge_disturbances,
             "the steps of one run of each, and made-up ones (tests/tools/compare_diagnosis_test.cpp)"),
        Part("long", "changed files of all formats, collectives of a million elements and of more than 2 GiB",
             [[binaries + program, "[long]"] for program in ("data_test", "serialize_test", "distributed_test")], 2,
             judge_catch, "all of them, in `./run test --all`"),
        Part("language-models", "BERT, GPT-2 and Llama against Hugging Face transformers: each other's files, and relative errors of losses "
             "and gradients, among them those of a GPT-2 with 124 million parameters",
             ["sh", "-c", 'exec "$(tests/python_with.sh "torch, transformers, safetensors")" tests/soak/language_models.py ' +
              binaries + "language_models_program"], 1, judge_language_models, "small models, compared with recorded values"),
        Part("sanitizers", "all tests that AddressSanitizer and ThreadSanitizer can run",
             ["./run", "sanitize"], 2, judge_sanitizers,
             "those of the library, without those of the command and those that start other programs"),
    ]


# ---------------------------------------------------------------- records
def output_of(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def commit_now():
    """Returns the commit, followed by + if the sources differ from it. Files that this script writes are ignored."""
    status = output_of("git", "status", "--porcelain", "--", ".", f":!{RECORDS.relative_to(ROOT)}",
                       f":!{DOCUMENT.relative_to(ROOT)}")
    return output_of("git", "rev-parse", "--short=9", "HEAD") + ("+" if status else "")


def machine():
    cpu = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{cpu[1] if cpu else os.uname().machine}, {len(os.sched_getaffinity(0))} cores, {memory:.0f} GiB"


def records():
    return [json.loads(line) for line in RECORDS.read_text().splitlines()] if RECORDS.exists() else []


def last_of(name, all_records):
    of_part = [r for r in all_records if r["part"] == name]
    return of_part[-1] if of_part else None


# ---------------------------------------------------------------- running
def run(command, log, seconds):
    """Returns the exit status, or None if the time limit was reached. Ends all processes that the command started."""
    with subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, start_new_session=True) as process:
        try:
            return process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
                try:
                    process.wait(timeout=10)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)


def run_part(part, commit, limit):
    commands = part.filled(int(commit[:7], 16))
    print(f"soak: {part.name}: {' && '.join(map(shlex.join, commands))}", flush=True)
    LOGS.mkdir(parents=True, exist_ok=True)
    path, began = LOGS / f"{part.name}.log", time.time()
    status = 0
    with open(path, "wb") as log:
        for command in commands:
            status = run(command, log, max(1, limit - (time.time() - began)))
            if status != 0:
                break
    if status is None:
        figures, wrong = {}, f"not finished within {limit:.0f} s"
    else:
        figures, wrong = part.judge(status, path.read_text(errors="replace"))
    record = {"date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"), "commit": commit,
              "machine": machine(), "part": part.name, "command": " && ".join(map(shlex.join, commands)),
              "seconds": round(time.time() - began), "figures": figures, "outcome": "failed" if wrong else "passed"}
    if wrong:
        record["why"] = wrong
    with open(RECORDS, "a") as file:
        file.write(json.dumps(record) + "\n")
    DOCUMENT.write_text(document())
    print(f"soak: {part.name}: {record['outcome']}{': ' + wrong if wrong else ''} after {record['seconds']} s; {figures_text(figures)}"
          f"{'; the log is ' + str(path.relative_to(ROOT)) if wrong else ''}", flush=True)
    return not wrong


# ---------------------------------------------------------------- the document
def figures_text(figures):
    return ", ".join(f"{v:,} {k}" if isinstance(v, int) else f"{k} {v}" for k, v in figures.items())


def document():
    all_records = records()
    head = """\
        # What is too long for CI: `./run soak`

        `tests/soak/soak.py` writes this page from `tests/soak/records.jsonl`. Each run of a part adds a line to that file, with its
        date, commit, machine, command and figures. `./run check` compares the page with the records.

            ./run soak                    # all parts, some hours; a part that has passed at this commit is not repeated
            ./run soak faults fuzz        # only these parts
            ./run soak --list             # lists the parts, with their limits and when they last ran

        If you stop it, the next call continues with the interrupted part. Commit `records.jsonl` and this page afterwards. Seeds are
        computed from the commit, so that each commit is tried with new seeds. The part `differential` needs a Python with torch,
        `tokenizers` needs one with tokenizers and the Debian packages that `tests/soak/tokenizer_lines.py` names, and `fuzz` needs
        clang. Random programs pass if 99.7 % agree with PyTorch or differ in a way that
        `tests/differential/search/wanted.py` lists as intended, and if at most 1.5 % differ in such a way. A program also agrees if a
        second run of PyTorch gives Tandem's results: with slightly changed rounding, in float64, or with copies of the tensors that
        backward saves (`second_run.py`); the figures say how many programs do.
        """
    lines = [textwrap.dedent(head), "| part | what it does | what CI runs of it | last run | outcome |", "|---|---|---|---|---|"]
    for part in parts():
        last = last_of(part.name, all_records)
        when = f"{last['date'][:10]}, commit {last['commit']}, {last['machine']}; {last['seconds']:,} s" if last else "never"
        outcome = ""
        if last:
            outcome = last["outcome"] + (": " + last["why"] if "why" in last else "")
            outcome += f" ({figures_text(last['figures'])})" if last["figures"] else ""
        lines.append(f"| `{part.name}` | {part.what} | {part.sample} | {when} | {outcome} |")
    return "\n".join(lines) + "\n"


def listing():
    all_records = records()
    for part in parts():
        last = last_of(part.name, all_records)
        print(f"{part.name:<16} at most {part.hours} h   " +
              (f"{last['outcome']} at {last['commit']} on {last['date'][:10]}" if last else "has not run") +
              f"\n{'':<17}{' && '.join(map(shlex.join, part.commands))}")


def main():
    parser = argparse.ArgumentParser(prog="./run soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--again", action="store_true", help="also run parts that have passed at this commit")
    parser.add_argument("--limit", type=float, metavar="SECONDS", help="time limit of each part, instead of its own")
    for action in ("list", "document", "check"):
        parser.add_argument(f"--{action}", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    known = {part.name: part for part in parts()}
    for name in options.parts:
        if name not in known:
            parser.error(f"'{name}' is not a part; accepted: {', '.join(known)}")
    if options.list:
        return listing()
    if options.document:
        DOCUMENT.write_text(document())
        return 0
    if options.check:
        if DOCUMENT.exists() and DOCUMENT.read_text() == document():
            return 0
        print("docs/soak.md does not match tests/soak/records.jsonl; run tests/soak/soak.py --document")
        return 1
    commit, failed = commit_now(), []
    for part in [known[name] for name in dict.fromkeys(options.parts)] or known.values():
        last = last_of(part.name, records())
        if last and last["outcome"] == "passed" and last["commit"] == commit and not commit.endswith("+") and not options.again:
            print(f"soak: {part.name} has already passed at {commit}")
        elif not run_part(part, commit, options.limit or 3600 * part.hours):
            failed.append(part.name)
    if failed:
        print(f"soak: failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
