// Op cases of pooling in one and three dimensions, adaptive max pooling, and unpooling.
#include "tandem/ops/nn/avg_pool.h"
#include "tandem/ops/nn/max_pool.h"
#include "tandem/tests/op_cases/families.h"

namespace tandem::test {

static constexpr const char* kShaped = "asks for sizes of its own";
// clang-format off
static constexpr OpCase kPoolRanksCases[] = {
    {"max_pool1d", [](In in) { return max_pool1d(in[0], 3); }},
    {"max_pool1d/all", [](In in) { return max_pool1d(in[0], 3, 2, 1, 2, true); }},
    {"max_pool1d/unbatched", [](In in) { return max_pool1d(in[0], 2, 1); }, {.no_empty = kShaped}},
    {"max_pool1d_with_indices", [](In in) { return max_pool1d_with_indices(in[0], 3, 2, 1, 1); }},
    {"avg_pool1d", [](In in) { return avg_pool1d(in[0], 3); }},
    {"avg_pool1d/all", [](In in) { return avg_pool1d(in[0], 4, 3, 2, true, false); }},
    {"avg_pool1d/padding", [](In in) { return avg_pool1d(in[0], 4, 3, 2, true); }, {.no_empty = kShaped}},
    {"adaptive_avg_pool1d", [](In in) { return adaptive_avg_pool1d(in[0], 4); }},
    {"adaptive_max_pool1d", [](In in) { return adaptive_max_pool1d(in[0], 4); }},
    {"adaptive_max_pool1d/more", [](In in) { return adaptive_max_pool1d(in[0], 9); }},
    {"adaptive_max_pool2d", [](In in) { return adaptive_max_pool2d(in[0], {3, 2}); }},
    {"adaptive_max_pool2d/unbatched", [](In in) { return adaptive_max_pool2d(in[0], 3); }},
    {"adaptive_max_pool2d/ties", [](In in) { return adaptive_max_pool2d(in[0], {2, 2}); }, {.no_gradcheck = kKink}},
    {"adaptive_max_pool3d", [](In in) { return adaptive_max_pool3d(in[0], {2, 3, 2}); }},
    {"max_pool3d", [](In in) { return max_pool3d(in[0], 2); }},
    {"max_pool3d/all", [](In in) { return max_pool3d(in[0], {3, 2, 2}, {2, 1, 2}, {1, 0, 1}, {1, 2, 1}, true); }},
    {"max_pool3d_with_indices", [](In in) { return max_pool3d_with_indices(in[0], {2, 3, 2}, 2, 1); },
     {.no_empty = kShaped}},
    {"max_pool3d_with_indices/ties", [](In in) { return max_pool3d_with_indices(in[0], 2, 1); }, {.no_gradcheck = kKink}},
    {"avg_pool3d", [](In in) { return avg_pool3d(in[0], 2); }},
    {"avg_pool3d/all", [](In in) { return avg_pool3d(in[0], {3, 2, 2}, {2, 3, 2}, {1, 1, 0}, true, false); }},
    {"avg_pool3d/padding", [](In in) { return avg_pool3d(in[0], 3, 2, 1, true); }, {.no_empty = kShaped}},
    {"avg_pool3d/divisor", [](In in) { return avg_pool3d(in[0], {3, 2, 2}, 2, 1, true, false, 7); }},
    {"avg_pool2d/divisor", [](In in) { return avg_pool2d(in[0], {3, 2}, 2, 1, true, true, 5); }},
    {"avg_pool2d/divisor/no_ceil", [](In in) { return avg_pool2d(in[0], 2, {}, 0, false, true, 5); },
     {.no_empty = kShaped}},
    {"adaptive_avg_pool3d", [](In in) { return adaptive_avg_pool3d(in[0], {3, 2, 2}); }},
    {"fractional_max_pool2d", [](In in) { return fractional_max_pool2d(in[0], {2, 3}, {4, 3}, in[1]); },
     {.no_empty = kShaped}},
    {"fractional_max_pool2d/one", [](In in) { return fractional_max_pool2d(in[0], 2, {1, 5}, in[1]); },
     {.no_empty = kShaped}},
    {"fractional_max_pool3d", [](In in) { return fractional_max_pool3d(in[0], {2, 1, 2}, {3, 4, 2}, in[1]); },
     {.no_empty = kShaped}},
    {"max_unpool2d", [](In in) { return max_unpool2d(in[0], in[1].reshape({1, 2, 2, 3}), {4, 5}); },
     {.no_empty = kShaped}},
    {"max_unpool3d", [](In in) { return max_unpool3d(in[0], in[1].reshape({2, 1, 2, 3}), {2, 4, 6}, 2, 0); },
     {.no_empty = kShaped}},
};
// clang-format on
const Family kPoolRanks{"pool_ranks", kPoolRanksCases};

}  // namespace tandem::test
