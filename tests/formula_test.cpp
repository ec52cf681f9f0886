// Tests that formula.h computes the same numbers as tests/fixtures/formula.py, which printed the numbers below.
#include "tandem/tests/formula.h"

#include "tandem/tests/catch.h"

using namespace tandem::test;
using Numbers = std::vector<double>;

TEST_CASE("values are those that Python computes, bit for bit", "[formula]") {
  CHECK(value(0, 1) == -0x1.45733cp-1);
  CHECK(value(1, 1) == -0x1.550298p-1);
  CHECK(value(2, 1) == -0x1.6ef7ep-3);
  CHECK(value(3, 1) == 0x1.f78edp-3);
  CHECK(value(123456, 3) == -0x1.8c6cp-8);
  CHECK(value(4, 4294967295u) == -0x1.a46cap-4);
}

TEST_CASE("specs are read as Python reads them", "[formula]") {
  CHECK(evaluate(real({3}, 0.1, 2.0), 2) == Numbers{1.3649511337280273, 0.7388851046562195, 0.6786180138587952});
  CHECK(evaluate(integer(9, {6}), 1) == Numbers{1, 1, 3, 5, 3, 4});
  CHECK(evaluate(boolean({6}), 1) == Numbers{0, 0, 0, 1, 0, 1});
  CHECK(evaluate(permutation({2, 5}), 1) == Numbers{1, 0, 4, 2, 3, 3, 4, 0, 1, 2});
  CHECK(evaluate(real({}), 1).size() == 1);
  CHECK(evaluate(real({0, 3}), 1).empty());
  CHECK(evaluate(permutation({2, 0}), 1).empty());
}

TEST_CASE("away_from moves what is near, and nothing else", "[formula]") {
  const Numbers plain = evaluate(real({40}), 1), moved = evaluate(away_from(0.0, {40}), 1);
  for (size_t i = 0; i < plain.size(); ++i) CHECK(moved[i] == (i == 17 ? 0.14992257952690125 : plain[i]));
}

TEST_CASE("only real inputs that are not constant take a gradient", "[formula]") {
  CHECK(real({2}).differentiable());
  CHECK(away_from(0.0, {2}).differentiable());
  CHECK_FALSE(constant(real({2})).differentiable());
  CHECK_FALSE(integer(3, {2}).differentiable());
  CHECK_FALSE(boolean({2}).differentiable());
}

TEST_CASE("checksums are Python's up to the order of a sum", "[formula]") {
  const Checksum c = checksum(evaluate(real({3, 4, 5}), 1));
  // Tolerance 1e-12: the sums of 60 doubles below one may be added in another order.
  CHECK(c.sum == Approx(-8.255064725875854).epsilon(1e-12));
  CHECK(c.abs_sum == Approx(31.55066156387329).epsilon(1e-12));
  CHECK(c.weighted == Approx(0.6710189975281935).epsilon(1e-12));
  CHECK(c.head == Numbers{-0.635644793510437, -0.6660354137420654, -0.1791837215423584, 0.24587786197662354});
  CHECK(checksum({}).head.empty());
}
