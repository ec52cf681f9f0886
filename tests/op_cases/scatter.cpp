// Op cases that write by index and by mask.
#include "tandem/ops/index/scatter.h"
#include "tandem/ops/elementwise/add_sub.h"
#include "tandem/ops/elementwise/binary.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/index/index_add.h"
#include "tandem/ops/index/index_copy.h"
#include "tandem/ops/index/index_fill.h"
#include "tandem/ops/index/index_put.h"
#include "tandem/ops/index/index_reduce.h"
#include "tandem/ops/index/masked_scatter.h"
#include "tandem/ops/index/put.h"
#include "tandem/ops/index/scatter_reduce.h"
#include "tandem/ops/index/slice_scatter.h"
#include "tandem/ops/index/take.h"
#include "tandem/ops/index/tensor_index.h"
#include "tandem/ops/reduce/mean.h"
#include "tandem/ops/reduce/minmax.h"
#include "tandem/ops/reduce/prod.h"
#include "tandem/ops/reduce/std_var.h"
#include "tandem/ops/reduce/sum.h"
#include "tandem/tests/op_cases/families.h"

namespace tandem::test {
namespace {

constexpr const char* kNoPlace = "an index into nothing is an error, as in PyTorch";
constexpr const char* kOtherRows = "names the rows";
constexpr OpCase kScatterCases[] = {
    {"index_put", [](In in) { return index_put(in[0], {in[1]}, in[2]); }, {.integers = true, .no_empty = kNoPlace}},
    {"index_put/accumulate",
     [](In in) {
       return in[0].index_put({in[1], in[2]}, in[3], true);
     },
     {.integers = true, .no_empty = kNoPlace}},
    {"index_put/whole",
     [](In in) {
       return index_put(in[0], {nullopt, in[1]}, in[2]);
     },
     {.integers = true}},
    {"index_put/number", [](In in) { return in[0].index_put({in[1]}, 2); }, {.integers = true}},
    {"index_put_/accumulate",
     [](In in) {
       Tensor y = in[0].clone();
       return index_put_(y, {in[1]}, in[2], true);
     },
     {.integers = true, .no_empty = kNoPlace}},
    {"index/whole",
     [](In in) {
       return index(in[0], {nullopt, in[1]});
     },
     {.integers = true}},
    {"index_add/alpha", [](In in) { return index_add(in[0], 1, in[1], in[2], -2); }, {.integers = true}},
    {"index_add_", [](In in) { return in[0].clone().index_add_(1, in[1], in[2]); }, {.integers = true}},
    {"index_copy", [](In in) { return index_copy(in[0], 1, in[1], in[2]); }, {.integers = true}},
    {"index_copy_", [](In in) { return in[0].clone().index_copy_(-1, in[1], in[2]); }, {.integers = true}},
    {"index_fill", [](In in) { return index_fill(in[0], 1, in[1] - 4, 2); }, {.integers = true}},
    {"index_fill/tensor", [](In in) { return index_fill(in[0], 1, in[1], in[2]); }, {.integers = true}},
    {"index_fill_", [](In in) { return in[0].clone().index_fill_(2, in[1], 3); }, {.integers = true}},
    {"index_reduce", [](In in) { return index_reduce(in[0], 1, in[1], in[2], "prod"); }, {.integers = true}},
    {"index_reduce/mean", [](In in) { return index_reduce(in[0], 1, in[1], in[2], "mean"); }},
    {"index_reduce/amax", [](In in) { return index_reduce(in[0], 1, in[1], in[2], "amax"); }, {.integers = true}},
    {"index_reduce/amin",
     [](In in) { return index_reduce(in[0], 0, in[1], in[2], "amin", false); },
     {.integers = true, .no_empty = kNoPlace}},
    {"index_reduce_", [](In in) { return in[0].clone().index_reduce_(1, in[1], in[2], "amax"); }, {.integers = true}},
    {"take", [](In in) { return take(in[0], in[1] - 60); }, {.integers = true, .no_empty = kNoPlace}},
    {"put", [](In in) { return put(in[0], in[1], in[2]); }, {.integers = true, .no_empty = kNoPlace}},
    {"put/accumulate",
     [](In in) { return put(in[0], in[1], in[2], true); },
     {.integers = true, .no_empty = kOtherRows}},
    {"put_", [](In in) { return in[0].clone().put_(in[1], in[2]); }, {.integers = true, .no_empty = kNoPlace}},
    {"take_along_dim", [](In in) { return take_along_dim(in[0], in[1], 1); }, {.integers = true}},
    {"take_along_dim/flat",
     [](In in) { return take_along_dim(in[0], in[1]); },
     {.integers = true, .no_empty = kNoPlace}},
    {"scatter/number", [](In in) { return scatter(in[0], 1, in[1], 2); }, {.integers = true}},
    {"scatter/add", [](In in) { return scatter(in[0], 1, in[1], in[2], "add"); }, {.integers = true}},
    {"scatter/multiply", [](In in) { return scatter(in[0], 1, in[1], 3, "multiply"); }, {.integers = true}},
    {"scatter_", [](In in) { return in[0].clone().scatter_(1, in[1], in[2]); }, {.integers = true}},
    {"scatter_/number", [](In in) { return in[0].clone().scatter_(0, in[1], 4); }, {.integers = true}},
    {"scatter_/multiply",
     [](In in) { return in[0].clone().scatter_(1, in[1], in[2], "multiply"); },
     {.integers = true}},
    {"scatter_add_", [](In in) { return in[0].clone().scatter_add_(1, in[1], in[2]); }, {.integers = true}},
    {"scatter_reduce", [](In in) { return scatter_reduce(in[0], 1, in[1], in[2], "sum"); }, {.integers = true}},
    {"scatter_reduce/sum_of_source",
     [](In in) { return scatter_reduce(in[0], 0, in[1], in[2], "sum", false); },
     {.integers = true}},
    {"scatter_reduce/prod", [](In in) { return scatter_reduce(in[0], 1, in[1], in[2], "prod"); }, {.integers = true}},
    {"scatter_reduce/prod_of_source",
     [](In in) { return scatter_reduce(in[0], 0, in[1], in[2], "prod", false); },
     {.integers = true}},
    {"scatter_reduce/prod_of_zeros", [](In in) { return scatter_reduce(in[0], 0, in[1], in[2], "prod"); }},
    {"scatter_reduce/mean", [](In in) { return scatter_reduce(in[0], 1, in[1], in[2], "mean"); }},
    {"scatter_reduce/mean_of_source", [](In in) { return scatter_reduce(in[0], 0, in[1], in[2], "mean", false); }},
    {"scatter_reduce/amax", [](In in) { return scatter_reduce(in[0], 1, in[1], in[2], "amax"); }, {.integers = true}},
    {"scatter_reduce/amin_of_source",
     [](In in) { return scatter_reduce(in[0], 0, in[1], in[2], "amin", false); },
     {.integers = true}},
    {"scatter_reduce/ties",
     [](In in) { return scatter_reduce(in[0], 0, in[1], in[2], "amax"); },
     {.integers = true, .no_gradcheck = kKink}},
    {"scatter_reduce_",
     [](In in) { return in[0].clone().scatter_reduce_(1, in[1], in[2], "amin"); },
     {.integers = true}},
    {"select_scatter",
     [](In in) { return select_scatter(in[0], in[1], 1, -2); },
     {.integers = true, .no_empty = kOtherRows}},
    {"slice_scatter", [](In in) { return slice_scatter(in[0], in[1], 1, 1, {}, 2); }, {.integers = true}},
    {"diagonal_scatter",
     [](In in) { return diagonal_scatter(in[0], in[1], 1); },
     {.integers = true, .no_empty = kOtherRows}},
    {"as_strided_scatter",
     [](In in) {
       return as_strided_scatter(in[0], in[1], {2, 2}, {5, 2}, 1);
     },
     {.integers = true, .no_strided = "is refused", .no_empty = kOtherRows}},
    {"masked_scatter", [](In in) { return masked_scatter(in[0], in[1], in[2]); }, {.integers = true}},
    {"masked_scatter/grown",
     [](In in) { return masked_scatter(in[0], in[1], in[2]); },
     {.integers = true, .no_empty = kOtherRows}},
    {"masked_scatter_", [](In in) { return in[0].clone().masked_scatter_(in[1], in[2]); }, {.integers = true}},
    {"masked_fill_/tensor", [](In in) { return in[0].clone().masked_fill_(in[1], in[2]); }, {.integers = true}},
};

}  // namespace
const Family kScatter{"scatter", kScatterCases};

}  // namespace tandem::test
