#!/usr/bin/env python3
"""sass.py NVCC NVDISASM: checks the cost of hot elementwise kernels, and of attention in half types, in their machine
code (SASS) for sm_90, without a GPU.

Compiles ci/hot_kernels.cu with a release build's options, disassembles it with nvdisasm, and follows one warp through
each case of ci/hot_kernels.txt. Prints what the warp executes, and fails if a limit of the case is exceeded, if its
kernel is missing, or if the kernel spills registers to memory.

A case gives the kernel's parameter: contiguous operands of the given dtypes, planned as kernels/cuda/planner.cpp does.
So the script knows every branch that depends on dtypes, layouts and thread indices, and follows the first warp from the
first instruction to EXIT. Results of instructions that it does not know, such as loads from memory, are unknown; a
branch that depends on one is an error. Each of the 32 threads computes 8 elements, so the number of executed
instructions is the number of warp instructions per 256 elements. Instructions whose predicate is false count, too,
because the warp issues them, except as loads and stores. The bytes that a thread moves are given by the dtypes, so the
numbers of loads and stores tell how wide they are.

For the kernels of attention (ci/hot_attention.txt), it checks registers and spills, and counts the instructions of tensor
cores in the code: a product that is missing, or a fragment that is loaded twice, changes their numbers.
"""
import collections
import ctypes
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
ELEMENTS = 1 << 20  # elements of a case; any number that fills many blocks gives the same path
THREADS = 128  # kElementThreads
PER_THREAD = 8  # kPlainElements
DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"]
SIZES = [4, 8, 2, 2, 8, 4, 2, 1, 1, 1]


# ---- the parameter of the kernels: kernels/cuda/element_plan.h. ci/hot_kernels.cu checks the offsets.

class Divider(ctypes.Structure):
    _fields_ = [("divisor", ctypes.c_uint32), ("factor", ctypes.c_uint32), ("shift", ctypes.c_int32)]


class Operand(ctypes.Structure):
    _fields_ = [("data", ctypes.c_uint64), ("value", ctypes.c_uint64), ("strides", ctypes.c_int64 * 8),
                ("dtype", ctypes.c_uint8), ("size", ctypes.c_uint8)]


class Plan(ctypes.Structure):
    _fields_ = [("rank", ctypes.c_int32), ("vector", ctypes.c_uint8), ("plain", ctypes.c_uint8),
                ("items", ctypes.c_uint32), ("count", ctypes.c_uint32), ("dividers", Divider * 8),
                ("operand_count", ctypes.c_int32), ("operands", Operand * 4), ("scalars", ctypes.c_double * 2)]


def plan(dtypes):
    """Returns the plan of contiguous operands, output first. All of these plans are plain."""
    sizes = [SIZES[DTYPES.index(dtype)] for dtype in dtypes]
    width = min(PER_THREAD, 16 // max(sizes))
    p = Plan(rank=1, vector=1, plain=PER_THREAD // width, items=ELEMENTS // width, count=ELEMENTS,
             operand_count=len(dtypes))
    p.dividers[0] = Divider(divisor=p.items)
    for k, (dtype, size) in enumerate(zip(dtypes, sizes)):
        p.operands[k].data = (k + 1) << 40
        p.operands[k].dtype = DTYPES.index(dtype)
        p.operands[k].size = size
        p.operands[k].strides[0] = size * width
    return p


# ---- instructions

INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@(!?U?P\w+)\s+)?([A-Z][A-Z0-9._]*)\s*([^;]*);")


class Kernel:
    """Code of a kernel: (predicate, opcode with modifiers, operands) for each instruction, and positions of labels."""

    def __init__(self):
        self.code, self.labels, self.registers = [], {}, 0

    def spills(self):
        return sum(opcode.split(".")[0] in ("STL", "LDL") for _, opcode, _ in self.code)


def parse(listing):
    """Returns the kernels in nvdisasm's listing by mangled name."""
    kernels, kernel = {}, None
    for line in listing.splitlines():
        if found := re.match(r"\.text\.(\w+):", line):
            kernel = kernels.setdefault(found[1], Kernel())
        elif kernel and (found := re.match(r"(\.L_\w+):", line)):
            kernel.labels[found[1]] = len(kernel.code)
        elif kernel and (found := INSTRUCTION.search(line)):
            operands = [o.strip().replace(".reuse", "") for o in found[3].split(",")]
            kernel.code.append((found[1], found[2], operands))
    return kernels


COMPARE = {"EQ": lambda a, b: a == b, "NE": lambda a, b: a != b, "LT": lambda a, b: a < b, "LE": lambda a, b: a <= b,
           "GT": lambda a, b: a > b, "GE": lambda a, b: a >= b}


def signed(x):
    return x - (1 << 32) if x >> 31 else x


def permute(a, selector, b):
    """PRMT: each digit of the selector picks one of the eight bytes of a and b, or repeats its sign."""
    data, out = (a | b << 32).to_bytes(8, "little"), 0
    for i in range(4):
        digit = selector >> 4 * i & 15
        byte = data[digit & 7]
        out |= (255 * (byte >> 7) if digit & 8 else byte) << 8 * i
    return out


class Warp:
    """Follows the first thread of the first block. A value is a number, or None if it is unknown."""

    def __init__(self, constants):
        self.constants = constants
        self.registers = {}

    def value(self, operand):
        """Returns the value of a register, predicate, number or constant as 32 bits (a truth value for predicates)."""
        if operand.startswith(("-", "~")):
            x = self.value(operand[1:])
            return None if x is None else (-x if operand[0] == "-" else ~x) & 0xffffffff
        if operand.startswith("!"):
            x = self.value(operand[1:])
            return None if x is None else not x
        if operand in ("RZ", "URZ", "SRZ", "SR_TID.X", "SR_CTAID.X"):
            return 0
        if operand in ("PT", "UPT"):
            return True
        if operand.startswith("c["):
            return self.constant(operand, 4)
        if re.fullmatch(r"0x[0-9a-f]+|\d+", operand):
            return int(operand, 0) & 0xffffffff
        return self.registers.get(operand)

    def constant(self, operand, size, sign=False):
        """Returns `size` bytes of the constants, which hold the block's size and the kernel's parameter."""
        bank, index, offset = re.fullmatch(r"c\[(\w+)\]\[(?:(U?R\w+))?\+?(\w*)\]", operand).groups()
        start = self.value(index) if index else 0
        if bank != "0x0" or start is None:
            return None
        at = (start + int(offset or "0", 0)) & 0xffffffff
        if at + size > len(self.constants):
            return None
        return int.from_bytes(self.constants[at:at + size], "little", signed=sign)

    def compute(self, opcode, x):
        """Returns the results by register of an instruction with operands x; None if it is not known."""
        name, *kinds = opcode.split(".")
        name = name[1:] if name in ("UISETP", "UIADD3", "UIMAD", "UMOV", "ULDC", "UPRMT", "ULOP3", "USEL", "USHF") else name
        if name == "LDC":
            bits = next((int(k[1:] if k[0] in "US" else k) for k in kinds if re.fullmatch(r"[US]?\d+", k)), 32)
            got = self.constant(x[1], bits // 8, sign=any(k[0] == "S" for k in kinds))
            return None if got is None else self.wide(x[0], got, bits)
        if name == "ISETP":
            return self.compare(kinds, x)
        v = [self.value(o) for o in x[1:]]
        if name == "CS2R":
            return {x[0]: v[0], neighbour(x[0]): v[0]}
        if name in ("S2R", "S2UR", "MOV", "R2UR"):
            return {x[0]: v[0]}
        if name == "SEL" and v[2] is not None:
            return {x[0]: v[0] if v[2] else v[1]}
        if None in v or "X" in kinds or any(re.fullmatch(r"U?P\d", o) for o in x):
            return None  # unknown operands, and carries
        if name == "IMAD" and "HI" not in kinds and "WIDE" not in kinds:
            return {x[0]: v[0] * v[1] + v[2]} if len(v) == 3 else None
        if name in ("VIADD", "IADD3"):
            return {x[0]: sum(v)}
        if name == "PRMT":
            return {x[0]: permute(v[0], v[1], v[2])}
        if name == "LOP3":
            return {x[0]: sum(1 << i for i in range(32)
                              if v[3] >> ((v[0] >> i & 1) * 4 + (v[1] >> i & 1) * 2 + (v[2] >> i & 1)) & 1)}
        if name == "SHF" and v[0] == 0 and kinds[:2] == ["R", "U32"]:
            return {x[0]: v[2] >> min(v[1], 32)}
        return None

    def wide(self, register, value, bits):
        return {register: value, **({neighbour(register): value >> 32} if bits == 64 else {})}

    def compare(self, kinds, x):
        """ISETP: first predicate = (a compared with b) combined with a third one. EX compares the upper words, and a
        last predicate holds the result for the lower ones."""
        a, b = self.value(x[2]), self.value(x[3])
        if a is None or b is None:
            return None
        if "U32" not in kinds and "EX" not in kinds:
            a, b = signed(a), signed(b)
        holds = COMPARE[kinds[0]](a, b)
        if "EX" in kinds and a == b:
            holds = self.value(x[5])
        other = self.value(x[4])
        if "AND" in kinds:
            holds = False if holds is False or other is False else None if None in (holds, other) else True
        elif "OR" in kinds:
            holds = True if holds or other else None if None in (holds, other) else False
        else:
            return None
        return {x[1]: None, x[0]: holds}  # the second predicate, mostly PT, is not followed

    def destinations(self, x):
        """Returns the operands that an instruction may write: the first one, behind a predicate also the register that
        follows, and all predicates up to the first other operand."""
        found = list(x[:2] if re.fullmatch(r"U?P\d", x[0]) else x[:1])
        for operand in x[1:]:
            if not re.fullmatch(r"U?P[\dT]", operand):
                break
            found.append(operand)
        return found

    def step(self, opcode, x):
        """Executes an instruction that is no branch."""
        results = self.compute(opcode, x)
        if results is None:  # the registers that it may write become unknown
            count = 4 if ".128" in opcode else 2 if re.search(r"64|WIDE", opcode) else 1
            results = {}
            for o in self.destinations(x):
                for _ in range(count):
                    results[o] = None
                    o = neighbour(o)
        for register, value in results.items():
            if value is not None and not isinstance(value, bool):
                value &= 0xffffffff
            self.registers[register] = value


def neighbour(register):
    found = re.fullmatch(r"(U?[RP])(\d+)", register)
    return f"{found[1]}{int(found[2]) + 1}" if found else register


def execute(kernel, dtypes):
    """Returns how often the warp issues each instruction, by opcode and whether the predicate may hold."""
    constants = bytearray(0x210) + bytes(plan(dtypes))
    constants[0:4] = THREADS.to_bytes(4, "little")
    warp, at, executed = Warp(constants), 0, collections.Counter()
    while True:
        predicate, opcode, operands = kernel.code[at]
        holds = warp.value(predicate) if predicate else True
        executed[opcode, holds is not False] += 1
        at += 1
        name = opcode.split(".")[0]
        if name in ("BRA", "EXIT", "BRX", "CALL", "RET"):
            if holds is None or opcode not in ("BRA", "EXIT"):
                raise ValueError(f"cannot follow instruction {at - 1} ({predicate or ''} {opcode}): it depends on "
                                 "loaded data, or on an instruction that sass.py does not know")
            if holds and opcode == "EXIT":
                return executed
            if holds:
                at = kernel.labels[re.fullmatch(r"`\((\.L_\w+)\)", operands[-1])[1]]
        elif holds is None:  # computed as if the predicate held, then forgotten
            before = dict(warp.registers)
            warp.step(opcode, operands)
            for register, value in warp.registers.items():
                if before.get(register) is not value:
                    warp.registers[register] = None
        elif holds:
            warp.step(opcode, operands)


# ---- the table

def short(name):
    """Returns a demangled name without namespaces, result and parameters."""
    name = re.sub(r"\(anonymous namespace\)::|\b(?:tandem|kernels|cuda)::", "", name)
    return re.sub(r"^void |\(.*$", "", name)


def compile_kernels(nvcc, nvdisasm, source, folder):
    """Returns the kernels of a source by short name."""
    (folder / "tandem").symlink_to(ROOT)
    cubin = folder / "kernels.cubin"
    said = subprocess.run([nvcc, "-std=c++20", "--expt-relaxed-constexpr", f"-I{folder}", "-arch=sm_90", "-cubin",
                           "-Xptxas=-v", "-o", cubin, source], capture_output=True, text=True)
    if said.returncode:
        sys.exit(said.stdout + said.stderr + f"sass: {nvcc} could not compile {source}")
    kernels = parse(subprocess.run([nvdisasm, "-c", cubin], capture_output=True, text=True, check=True).stdout)
    for name, registers in re.findall(r"Compiling entry function '(\w+)'.*?Used (\d+) registers", said.stderr, re.S):
        kernels[name].registers = int(registers)
    names = subprocess.run(["c++filt"], input="\n".join(kernels), capture_output=True, text=True, check=True).stdout
    return {short(name): kernel for name, kernel in zip(names.splitlines(), kernels.values())}


def read_table(text):
    """Yields (case, kernel, dtypes of output and inputs, limits) for each line of the table."""
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            case, kernel, dtypes, limits = (cell.strip() for cell in line.split("|"))
            yield case, kernel, dtypes.split(), dict(zip(("instructions", "registers", "loads", "stores"),
                                                         map(int, limits.split())), spills=0)


def measure(kernel, dtypes):
    executed = execute(kernel, dtypes)
    count = {name: sum(n for (opcode, holds), n in executed.items() if holds and opcode.startswith(name))
             for name in ("LDG", "STG")}
    return {"instructions": sum(executed.values()), "registers": kernel.registers, "loads": count["LDG"],
            "stores": count["STG"], "spills": kernel.spills()}


def check(kernels, table):
    """Prints a line for each case, and returns the problems."""
    problems = []
    print(f"{'warp instructions per 256 elements':40} (limit)  registers   loads   stores  spills")
    for case, name, dtypes, limits in read_table(table):
        if name not in kernels:
            problems.append(f"{case}: there is no kernel {name}; accepted: {', '.join(sorted(kernels))}")
            continue
        try:
            got = measure(kernels[name], dtypes)
        except ValueError as error:
            problems.append(f"{case}: {name}: {error}")
            continue
        cells = [f"{got[what]} ({limits[what]})" for what in ("registers", "loads", "stores")]
        print(f"{case:30} {got['instructions']:>9} {'(' + str(limits['instructions']) + ')':>7}",
              f"{cells[0]:>10} {cells[1]:>7} {cells[2]:>8} {got['spills']:>7}")
        # The dtypes of a case fix its loads and stores: with fewer, the script has followed another path.
        problems += [f"{case}: {got[what]} {what}; expected: {limits[what]}" for what in ("loads", "stores")
                     if got[what] != limits[what]]
        problems += [f"{case}: {got[what]} {what}; limit: {limits[what]}" for what in ("instructions", "registers", "spills")
                     if got[what] > limits[what]]
        if not got["registers"]:
            problems.append(f"{case}: the compiler's output does not say how many registers {name} uses")
    if not list(read_table(table)):
        problems.append("the table of limits has no cases")
    return problems


def check_attention(kernels, text):
    """Prints a line for each kernel of ci/hot_attention.txt, and returns the problems."""
    problems = []
    print(f"\n{'kernels of attention':54} registers (limit)  products   loads  spills")
    rows = [line.split("|") for line in text.splitlines() if line.strip() and not line.startswith("#")]
    for kind in ("BFloat16", "Half"):
        for pattern, numbers in rows:
            name = pattern.strip().replace("<T,", f"<{kind},")
            limit, products, loads = map(int, numbers.split())
            if name not in kernels:
                problems.append(f"there is no kernel {name}; accepted: {', '.join(sorted(kernels))}")
                continue
            kernel = kernels[name]
            count = collections.Counter(opcode.split(".")[0] for _, opcode, _ in kernel.code)
            print(f"{name:54} {kernel.registers:>9} {f'({limit})':>7} {count['HMMA']:>9} {count['LDSM']:>7} {kernel.spills():>7}")
            if not 0 < kernel.registers <= limit:
                problems.append(f"{name}: {kernel.registers} registers; limit: {limit}")
            for opcode, expected in (("HMMA", products), ("LDSM", loads)):
                if count[opcode] != expected:
                    problems.append(f"{name}: {count[opcode]} {opcode}; expected: {expected}")
            if kernel.spills():
                problems.append(f"{name}: {kernel.spills()} spills; limit: 0")
    if not rows:
        problems.append("the table of limits of attention has no kernels")
    return problems


def main():
    nvcc, nvdisasm = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        kernels = compile_kernels(nvcc, nvdisasm, ROOT / "ci" / "hot_kernels.cu", pathlib.Path(folder))
    problems = check(kernels, (ROOT / "ci" / "hot_kernels.txt").read_text())
    kernels = {}
    for source in ("half_forward.cu", "half_backward.cu"):
        with tempfile.TemporaryDirectory() as folder:
            kernels |= compile_kernels(nvcc, nvdisasm, ROOT / "kernels" / "cuda" / "attention" / source,
                                       pathlib.Path(folder))
    problems += check_attention(kernels, (ROOT / "ci" / "hot_attention.txt").read_text())
    if problems:
        sys.exit("\n".join(f"sass: {problem}" for problem in problems))


if __name__ == "__main__":
    main()
