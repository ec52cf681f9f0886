// Op cases of special functions.
#include "tandem/ops/elementwise/special.h"
#include "tandem/tests/op_cases/families.h"

namespace tandem::test {

static constexpr const char* kLarge = "half types do not reach the results";

static constexpr Notes kPolynomial{.refuses_half = true};
static constexpr Notes kOnHost{.refuses_half = true};
static constexpr OpCase kSpecialCases[] = {
    {"special_erfcx", [](In in) { return special_erfcx(in[0]); }},
    {"special_erfcx/special", [](In in) { return special_erfcx(in[0]); }, {.no_half = kLarge}},
    {"special_ndtri", [](In in) { return special::ndtri(in[0]); }},
    {"special_ndtri/special", [](In in) { return special_ndtri(in[0]); }},
    {"special_i0e", [](In in) { return special_i0e(in[0]); }},
    {"special_i1", [](In in) { return special_i1(in[0]); }},
    {"special_i1e", [](In in) { return special_i1e(in[0]); }},
    {"special_i0e/special", [](In in) { return special_i0e(in[0]); }, {.no_gradcheck = kKink}},
    {"special_i1/special", [](In in) { return special_i1(in[0]); }, {.no_gradcheck = kKink, .no_half = kLarge}},
    {"special_i1e/special", [](In in) { return special_i1e(in[0]); }, {.no_gradcheck = kKink}},
    {"special_entr", [](In in) { return special_entr(in[0]); }},
    {"special_entr/special", [](In in) { return special_entr(in[0]); }},
    {"special_ndtr", [](In in) { return special_ndtr(in[0]); }},
    {"special_log_ndtr", [](In in) { return special_log_ndtr(in[0]); }},
    {"special_log_ndtr/special", [](In in) { return special_log_ndtr(in[0]); }},
    {"special_xlog1py", [](In in) { return special_xlog1py(in[0], in[1]); }},
    {"special_xlog1py/scalar", [](In in) { return special_xlog1py(in[0], 2.5); }},
    {"special_xlog1py/of_scalar", [](In in) { return special_xlog1py(2.5, in[0]); }},
    {"special_xlog1py/special", [](In in) { return special_xlog1py(in[0], in[1]); }},
    {"special_zeta", [](In in) { return special_zeta(in[0], in[1]); }},
    {"special_zeta/scalar", [](In in) { return special_zeta(in[0], 2.5); }},
    {"special_zeta/of_scalar", [](In in) { return special_zeta(3, in[0]); }},
    {"special_zeta/special", [](In in) { return special_zeta(in[0], in[1]); }},
#define X(name, ...)                                                                   \
  {"special_" #name, [](In in) { return special_##name(in[0], in[1]); }, kPolynomial}, \
      {"special_" #name "/beyond", [](In in) { return special_##name(in[0], 5); }, kPolynomial},
    TANDEM_POLYNOMIALS(X)
#undef X
#define X(name, ...)                                                        \
  {"special_" #name, [](In in) { return special_##name(in[0]); }, kOnHost}, \
      {"special_" #name "/special", [](In in) { return special_##name(in[0]); }, kOnHost},
        TANDEM_BESSEL_FUNCTIONS(X)
#undef X
            {"special_modified_bessel_i0",
             [](In in) { return special_modified_bessel_i0(in[0]); },
             {.no_half = kLarge}},
    {"special_modified_bessel_i1", [](In in) { return special_modified_bessel_i1(in[0]); }, {.no_half = kLarge}},
    {"special_airy_ai/below", [](In in) { return special_airy_ai(in[0]); }, kOnHost},
    {"polygamma", [](In in) { return polygamma(2, in[0]); }},
    {"polygamma/one", [](In in) { return polygamma(1, in[0]); }},
    {"polygamma/zero", [](In in) { return polygamma(0, in[0]); }},
    {"polygamma/special", [](In in) { return polygamma(3, in[0]); }},
    {"polygamma_", [](In in) { return (in[0] * 2).polygamma_(1); }},
    {"mvlgamma", [](In in) { return mvlgamma(in[0], 3); }},
    {"frexp", [](In in) { return frexp(in[0]); }},
    {"frexp/special", [](In in) { return frexp(in[0]); }},
    {"igamma", [](In in) { return igamma(in[0], in[1]); }},
    {"igammac", [](In in) { return igammac(in[0], in[1]); }},
    {"igamma/large", [](In in) { return igamma(in[0], in[1]); }},
    {"igammac/large", [](In in) { return igammac(in[0], in[1]); }},
    {"igamma/special", [](In in) { return igamma(in[0], in[1]); }},
    {"igammac/special", [](In in) { return igammac(in[0], in[1]); }},
};
const Family kSpecial{"special", kSpecialCases};

}  // namespace tandem::test
