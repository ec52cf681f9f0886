// Op cases of padding.
#include "tandem/ops/nn/pad.h"
#include "tandem/tests/op_cases/families.h"

namespace tandem::test {

static constexpr const char* kNoChannels = "asks for channels";
// clang-format off
static constexpr OpCase kPadCases[] = {
    {"constant_pad_nd", [](In in) { return constant_pad_nd(in[0], {2, 1, 0, 3}, 1.5); }},
    {"constant_pad_nd/cut", [](In in) { return constant_pad_nd(in[0], {-1, 2, 1, -2}); }},
    {"constant_pad_nd/integers", [](In in) { return constant_pad_nd(in[0], {1, 2}, 3); }, {.integers = true}},
    {"constant_pad_nd/bool", [](In in) { return constant_pad_nd(in[0], {1, 0}); }},
    {"constant_pad_nd/nothing", [](In in) { return constant_pad_nd(in[0], {}); }},
    {"pad", [](In in) { return pad(in[0], {1, 2}, "constant", 0.5); }},
    {"pad/reflect", [](In in) { return pad(in[0], {3, 2}, "reflect"); }},
    {"pad/replicate", [](In in) { return pad(in[0], {2, 7, 1, 0}, "replicate"); }},
    {"pad/circular", [](In in) { return pad(in[0], {5, 1, 2, 4}, "circular"); }},
    {"pad/circular_line", [](In in) { return pad(in[0], {2, -1}, PaddingMode::circular); }},
    {"reflection_pad1d", [](In in) { return reflection_pad1d(in[0], {2, 4}); }},
    {"reflection_pad1d/unbatched", [](In in) { return reflection_pad1d(in[0], {1, -2}); }, {.no_empty = kNoChannels}},
    {"reflection_pad2d", [](In in) { return reflection_pad2d(in[0], {1, 4, 3, 0}); }},
    {"reflection_pad3d", [](In in) { return reflection_pad3d(in[0], {2, 1, 0, 3, 1, 2}); }},
    {"replication_pad1d", [](In in) { return replication_pad1d(in[0], {2, 6}); }},
    {"replication_pad2d", [](In in) { return replication_pad2d(in[0], {1, 0, 3, 5}); }, {.no_empty = kNoChannels}},
    {"replication_pad3d", [](In in) { return replication_pad3d(in[0], {1, 0, 3, 1, 0, 4}); }},
};
// clang-format on
const Family kPad{"pad", kPadCases};

}  // namespace tandem::test
