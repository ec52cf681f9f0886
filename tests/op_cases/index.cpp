// Op cases that read and write by index and by mask.
#include "tandem/ops/index/gather.h"
#include "tandem/ops/index/index_add.h"
#include "tandem/ops/index/index_select.h"
#include "tandem/ops/index/masked_fill.h"
#include "tandem/ops/index/masked_select.h"
#include "tandem/ops/index/scatter.h"
#include "tandem/ops/index/tensor_index.h"
#include "tandem/ops/nn/embedding.h"
#include "tandem/tests/op_cases/families.h"

namespace tandem::test {

using indexing::Ellipsis;
using indexing::None;
using indexing::Slice;
static constexpr const char* kNoRow = "an index into no rows is an error, as in PyTorch";
static constexpr const char* kSmaller = "the index has fewer rows";
static constexpr OpCase kIndexCases[] = {
    {"index_select", [](In in) { return index_select(in[0], 1, in[1]); }, {.integers = true}},
    {"index_select/first", [](In in) { return index_select(in[0], 0, in[1]); }, {.integers = true, .no_empty = kNoRow}},
    {"index_add", [](In in) { return in[0].index_add(1, in[1], in[2]); }, {.integers = true}},
    {"index_select/scalar", [](In in) { return index_select(in[0], 0, in[1]); }, {.integers = true}},
    {"index_select/int32", [](In in) { return index_select(in[0], 1, in[1].to(kInt32)); }, {.integers = true}},
    {"index_add/scalar", [](In in) { return in[0].index_add(0, in[1], in[2]); }, {.integers = true}},
    {"gather", [](In in) { return gather(in[0], 1, in[1]); }, {.integers = true}},
    {"gather/last", [](In in) { return gather(in[0], -1, in[1]); }, {.integers = true}},
    {"gather/scalar", [](In in) { return gather(in[0], 0, in[1]); }, {.integers = true}},
    {"scatter", [](In in) { return scatter(in[0], 1, in[1], in[2]); }, {.integers = true}},
    {"scatter_add", [](In in) { return scatter_add(in[0], 1, in[1], in[2]); }, {.integers = true}},
    {"scatter/larger", [](In in) { return scatter(in[0], 1, in[1], in[2]); }, {.integers = true, .no_empty = kSmaller}},
    {"scatter_add/larger",
     [](In in) { return scatter_add(in[0], 1, in[1], in[2]); },
     {.integers = true, .no_empty = kSmaller}},
    {"scatter_add/scalar", [](In in) { return scatter_add(in[0], 0, in[1], in[2]); }, {.integers = true}},
    {"masked_fill", [](In in) { return in[0].masked_fill(in[1], -2.5); }},
    {"masked_fill/broadcast", [](In in) { return in[0].masked_fill(in[1], -2.5); }},
    {"masked_select", [](In in) { return masked_select(in[0], in[1]); }, {.integers = true}},
    {"masked_select/scalar", [](In in) { return masked_select(in[0], in[1]); }, {.integers = true}},
    {"embedding", [](In in) { return embedding(in[0], in[1]); }, {.no_empty = kNoRow}},
    {"embedding/padding",
     [](In in) { return embedding(in[0], in[1], 2); },
     {.no_gradcheck = "the padding row gets no gradient, which is its purpose", .no_empty = kNoRow}},
    {"one_hot", [](In in) { return one_hot(in[0], 6); }},
    {"index/mixed",
     [](In in) {
       return in[0].index({Slice(1), None, Ellipsis, Slice({}, {}, 2)});
     },
     {.integers = true, .view = true}},
    {"index/int",
     [](In in) {
       return in[0].index({1, Slice(), -1});
     },
     {.integers = true, .view = true, .no_empty = kNoRow}},
    {"index/zero_dim",
     [](In in) {
       return in[0].index({Slice(), in[1]});
     },
     {.integers = true, .view = true}},
    {"index/scalar_mask",
     [](In in) {
       return in[0].index({1, in[1].logical_not()});
     },
     {.integers = true, .no_empty = kNoRow}},
    {"index/tensor", [](In in) { return in[0].index({in[1]}); }, {.integers = true, .no_empty = kNoRow}},
    {"index/mask", [](In in) { return in[0].index({in[1]}); }, {.integers = true}},
    {"index/two_tensors",
     [](In in) {
       return in[0].index({in[1], in[2]});
     },
     {.integers = true, .no_empty = kNoRow}},
    {"index/tensor_second",
     [](In in) {
       return in[0].index({Slice(), in[1]});
     },
     {.integers = true}},
};
const Family kIndex{"index", kIndexCases};

}  // namespace tandem::test
