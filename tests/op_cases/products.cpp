// Op cases of products that are composed of other operations, and of distances.
#include "tandem/ops/linalg/cross.h"
#include "tandem/ops/linalg/multi_dot.h"
#include "tandem/ops/nn/attention.h"
#include "tandem/ops/nn/distance.h"
#include "tandem/ops/products/addmm.h"
#include "tandem/ops/products/dot.h"
#include "tandem/ops/products/einsum.h"
#include "tandem/ops/products/kron.h"
#include "tandem/ops/products/outer.h"
#include "tandem/ops/products/tensordot.h"
#include "tandem/tests/op_cases/families.h"

namespace tandem::test {

static constexpr const char* kSizes = "asks for sizes that fit";
static constexpr OpCase kProductsCases[] = {
    {"addmm/method", [](In in) { return in[0].addmm(in[1], in[2], 0.5, 2); }, {.no_empty = kSizes}},
    {"addmv", [](In in) { return addmv(in[0], in[1], in[2], 0.5, 2); }, {.no_empty = kSizes}},
    {"addr", [](In in) { return addr(in[0], in[1], in[2], 0.5, 2); }, {.no_empty = kSizes}},
    {"baddbmm", [](In in) { return baddbmm(in[0], in[1], in[2], 0.5, 2); }},
    {"addbmm", [](In in) { return addbmm(in[0], in[1], in[2], 0.5, 2); }, {.no_empty = kSizes}},
    {"outer", [](In in) { return outer(in[0], in[1]); }, {.integers = true}},
    {"inner", [](In in) { return inner(in[0], in[1]); }, {.integers = true}},
    {"inner/vectors", [](In in) { return inner(in[0], in[1]); }},
    {"inner/scalar", [](In in) { return inner(in[0], in[1]); }},
    {"kron", [](In in) { return kron(in[0], in[1]); }, {.integers = true}},
    {"kron/ranks", [](In in) { return kron(in[0], in[1]); }},
    {"cross", [](In in) { return cross(in[0], in[1], 1); }},
    {"cross/broadcast", [](In in) { return cross(in[0], in[1], -1); }, {.no_empty = kSizes}},
    {"tensordot",
     [](In in) {
       return tensordot(in[0], in[1], {1, 0}, {0, 1});
     },
     {.no_empty = kSizes}},
    {"tensordot/last", [](In in) { return tensordot(in[0], in[1], -1, -1); }},
    {"tensordot/none", [](In in) { return tensordot(in[0], in[1], {}, {}); }},
    {"einsum",
     [](In in) {
       return einsum("bij,bjk->bik", {in[0], in[1]});
     },
     {.integers = true}},
    {"einsum/implicit",
     [](In in) {
       return einsum("ij, jk", {in[0], in[1]});
     },
     {.integers = true, .no_empty = kSizes}},
    {"einsum/three",
     [](In in) {
       return einsum("ij,jk,k->i", {in[0], in[1], in[2]});
     },
     {.no_empty = kSizes}},
    {"einsum/outer",
     [](In in) {
       return einsum("i,j->ji", {in[0], in[1]});
     },
     {.integers = true}},
    {"einsum/trace", [](In in) { return einsum("ii", {in[0]}); }, {.no_empty = kSizes}},
    {"einsum/diagonal",
     [](In in) {
       return einsum("bii,bi->bi", {in[0], in[1]});
     },
     {.no_empty = kSizes}},
    {"einsum/dots",
     [](In in) {
       return einsum("...ij,...jk->...ik", {in[0], in[1]});
     },
     {.no_empty = kSizes}},
    {"einsum/dots_implicit",
     [](In in) {
       return einsum("i...,...j", {in[0], in[1]});
     },
     {.no_empty = kSizes}},
    {"einsum/summed",
     [](In in) {
       return einsum("ij,kl->k", {in[0], in[1]});
     },
     {.no_half = "rounds sums that nearly cancel"}},
    {"chain_matmul",
     [](In in) {
       return chain_matmul({in[0], in[1], in[2]});
     },
     {.no_empty = kSizes}},
    {"linalg_multi_dot",
     [](In in) {
       return linalg_multi_dot({in[0], in[1], in[2]});
     },
     {.no_empty = kSizes}},
    {"linalg_multi_dot/vectors",
     [](In in) {
       return linalg_multi_dot({in[0], in[1], in[2]});
     },
     {.no_empty = kSizes}},
    {"scaled_dot_product_attention", [](In in) { return scaled_dot_product_attention(in[0], in[1], in[2]); }},
    {"scaled_dot_product_attention/causal",
     [](In in) { return scaled_dot_product_attention(in[0], in[1], in[2], {}, 0, true, 0.5); }},
    {"scaled_dot_product_attention/mask",
     [](In in) { return scaled_dot_product_attention(in[0], in[1], in[2], in[3]); },
     {.no_empty = kSizes}},
    // ---- distances
    {"dist", [](In in) { return dist(in[0], in[1]); }, {.no_empty = kSizes}},
    {"dist/equal", [](In in) { return dist(in[0], in[0].detach()); }, {.no_gradcheck = "sits on a kink"}},
    {"dist/p3", [](In in) { return dist(in[0], in[1], 3); }},
    {"cdist", [](In in) { return cdist(in[0], in[1]); }},
    {"cdist/p1", [](In in) { return cdist(in[0], in[1], 1); }},
    {"pairwise_distance", [](In in) { return pairwise_distance(in[0], in[1]); }},
    {"pairwise_distance/keepdim",
     [](In in) { return pairwise_distance(in[0], in[1], 3, 1e-2, true); },
     {.no_empty = kSizes}},
    {"cosine_similarity", [](In in) { return cosine_similarity(in[0], in[1]); }},
    {"cosine_similarity/broadcast", [](In in) { return cosine_similarity(in[0], in[1], 0); }},
    {"pdist", [](In in) { return pdist(in[0]); }},
    {"pdist/one", [](In in) { return pdist(in[0], 1); }},
};
const Family kProducts{"products", kProductsCases};

}  // namespace tandem::test
