#!/usr/bin/env python3
"""sass_test.py: tests sass.py with a listing written by hand, without a compiler or a disassembler."""
import unittest

import sass

# y = x for float32 (two loads of 16 bytes) or for other dtypes (one). 0x330 is the dtype of operand 1: 0x210 + 120 + 88
# + 80; 0x215 is `plain`, 0x218 `items`.
LISTING = """
.text.kernel:
        /*0000*/                   ULDC.U8 UR4, c[0x0][0x330] ;
        /*0010*/                   S2R R0, SR_TID.X ;
        /*0020*/                   ISETP.NE.AND P0, PT, RZ, UR4, PT ;
        /*0030*/                   IMAD R2, R0, 0x4, R0 ;
        /*0040*/                   ISETP.GE.U32.AND P1, PT, R2, c[0x0][0x218], PT ;
.L_x_0:
        /*0050*/               @P1 EXIT ;
        /*0060*/                   LDG.E.128 R4, desc[UR8][R2.64] ;
        /*0070*/               @P0 BRA `(.L_x_1) ;
        /*0080*/                   LDG.E.128 R8, desc[UR8][R2.64] ;
        /*0090*/                   STG.E.128 desc[UR8][R2.64], R8 ;
.L_x_1:
        /*00a0*/                   STG.E.128 desc[UR8][R2.64], R4 ;
        /*00b0*/                   EXIT ;
.L_x_2:
        /*00c0*/                   BRA `(.L_x_2);
"""
TABLE = "a case | kernel | {} {} | {}"


def kernels(listing=LISTING, registers=12):
    found = sass.parse(listing)
    found["kernel"].registers = registers
    return found


class SassTest(unittest.TestCase):
    def problems(self, limits, dtype="float32", **options):
        return sass.check(kernels(**options), TABLE.format(dtype, dtype, limits))

    def test_counts_the_path_of_the_dtype(self):
        kernel = kernels()["kernel"]
        self.assertEqual(sass.measure(kernel, ["float32", "float32"]),
                         {"instructions": 12, "registers": 12, "loads": 2, "stores": 2, "spills": 0})
        self.assertEqual(sass.measure(kernel, ["bfloat16", "bfloat16"]),
                         {"instructions": 10, "registers": 12, "loads": 1, "stores": 1, "spills": 0})

    def test_finds_each_exceeded_limit(self):
        self.assertEqual(self.problems("12 12 2 2"), [])
        self.assertEqual(self.problems("11 12 2 2"), ["a case: 12 instructions; limit: 11"])
        self.assertEqual(self.problems("12 11 2 2"), ["a case: 12 registers; limit: 11"])
        self.assertEqual(self.problems("12 12 1 2"), ["a case: 2 loads; expected: 1"])
        self.assertEqual(self.problems("12 12 2 1"), ["a case: 2 stores; expected: 1"])

    def test_checks_the_instructions_of_tensor_cores(self):
        listing = """
.text.first:
        /*0000*/                   LDSM.16.M88.4 R4, [R8] ;
        /*0010*/                   HMMA.16816.F32.BF16 R12, R4, R6, R12 ;
        /*0020*/                   HMMA.16816.F32.BF16 R16, R4, R7, R16 ;
"""
        kernel = sass.parse(listing)["first"]
        kernel.registers = 20
        both = {"first<BFloat16, 1>": kernel, "first<Half, 1>": kernel}

        def problems(limits):
            found = sass.check_attention(both, f"# a comment\nfirst<T, 1> | {limits}\n")
            self.assertEqual(len(found) % 2, 0)  # both dtypes have the same problems
            return [each.replace("<BFloat16", "<T") for each in found[:len(found) // 2]]

        self.assertEqual(problems("20 2 1"), [])
        self.assertEqual(problems("19 2 1"), ["first<T, 1>: 20 registers; limit: 19"])
        self.assertEqual(problems("20 3 1"), ["first<T, 1>: 2 HMMA; expected: 3"])
        self.assertEqual(problems("20 2 2"), ["first<T, 1>: 1 LDSM; expected: 2"])
        kernel.code.append((None, "STL", ["[R1]", "R2"]))
        self.assertEqual(problems("20 2 1"), ["first<T, 1>: 1 spills; limit: 0"])
        self.assertEqual(sass.check_attention({}, "first<T, 1> | 20 2 1")[0],
                         "there is no kernel first<BFloat16, 1>; accepted: ")
        self.assertEqual(sass.check_attention({}, ""), ["the table of limits of attention has no kernels"])

    def test_refuses_a_path_that_loads_and_stores_nothing(self):
        # The parameter lies elsewhere, so that the plan reads as empty; or the instructions are of another kind.
        elsewhere = LISTING.replace("c[0x0][0x218]", "c[0x0][0x228]")
        self.assertEqual(self.problems("12 12 2 2", listing=elsewhere),
                         ["a case: 0 loads; expected: 2", "a case: 0 stores; expected: 2"])
        generic = LISTING.replace("LDG", "LD").replace("STG", "ST")
        self.assertEqual(len(self.problems("12 12 2 2", listing=generic)), 2)

    def test_refuses_unknown_registers_and_an_empty_table(self):
        self.assertEqual(len(self.problems("12 12 2 2", registers=0)), 1)
        self.assertEqual(sass.check(kernels(), "# a comment\n"), ["the table of limits has no cases"])

    def test_forgets_every_predicate_that_an_unknown_instruction_may_write(self):
        warp = sass.Warp(bytes(16))
        warp.registers = {"P0": True, "P1": True, "P2": True, "R1": 1}
        warp.step("IADD3", ["R1", "P0", "P1", "R5", "R6", "RZ"])
        self.assertEqual(warp.registers, {"P0": None, "P1": None, "P2": True, "R1": None})
        warp.step("ISETP.GE.AND", ["P0", "P2", "RZ", "RZ", "PT"])
        self.assertEqual((warp.registers["P0"], warp.registers["P2"]), (True, None))
        warp.registers["R9"] = 1
        warp.step("LOP3.LUT", ["P0", "R9", "R5", "0xff", "RZ", "0xc0", "!PT"])
        self.assertEqual((warp.registers["P0"], warp.registers["R9"]), (None, None))

    def test_finds_spilled_registers_in_code_that_the_case_does_not_execute(self):
        spilling = LISTING.replace("BRA `(.L_x_2)", "STL.64 [R1+0x8], R4")
        self.assertEqual(self.problems("12 12 2 2", listing=spilling), ["a case: 1 spills; limit: 0"])

    def test_names_a_missing_kernel(self):
        self.assertEqual(sass.check(kernels(), "a case | other | bool | 1 1 1 1"),
                         ["a case: there is no kernel other; accepted: kernel"])

    def test_refuses_a_branch_on_loaded_data(self):
        on_data = LISTING.replace("ISETP.NE.AND P0, PT, RZ, UR4", "ISETP.NE.AND P0, PT, RZ, R9")
        self.assertIn("cannot follow instruction 7 (P0 BRA)", self.problems("12 12 2 2", listing=on_data)[0])

    def test_knows_the_instructions_that_branches_depend_on(self):
        def result(opcode, *operands, **registers):
            warp = sass.Warp(bytes(16))
            warp.registers = registers
            warp.step(opcode, list(operands))
            return warp.registers[operands[0]]
        self.assertEqual(result("PRMT", "R1", "R0", "0x9910", "RZ", R0=0x80), 0x80)
        self.assertEqual(result("PRMT", "R1", "R0", "0x8880", "RZ", R0=0x80), 0xffffff80)
        self.assertEqual(result("LOP3.LUT", "R1", "R0", "0xff", "RZ", "0xc0", R0=0x1234), 0x34)
        self.assertEqual(result("IADD3", "R1", "R0", "-R0", "0x7", R0=5), 7)
        self.assertTrue(result("ISETP.LT.AND", "P0", "PT", "R0", "RZ", "PT", R0=0xffffffff))
        self.assertFalse(result("ISETP.LT.U32.AND", "P0", "PT", "R0", "RZ", "PT", R0=0xffffffff))
        # 64 bits: the upper words are equal, so the comparison of the lower ones decides
        self.assertTrue(result("ISETP.GE.AND.EX", "P0", "PT", "RZ", "UR1", "PT", "P0", UR1=0, P0=True))
        self.assertIsNone(result("LDG.E", "R1", "desc[UR8][R2.64]", R1=3))


if __name__ == "__main__":
    unittest.main()
