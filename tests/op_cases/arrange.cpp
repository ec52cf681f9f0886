// Op cases that reorder, repeat or drop elements: flips, rolls, tiles, splits, joins and diagonals.
#include "tandem/ops/elementwise/fill.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/linalg/vander.h"
#include "tandem/ops/shape/atleast.h"
#include "tandem/ops/shape/cat.h"
#include "tandem/ops/shape/combinations.h"
#include "tandem/ops/shape/diagonal.h"
#include "tandem/ops/shape/expand.h"
#include "tandem/ops/shape/flatten.h"
#include "tandem/ops/shape/flip_roll.h"
#include "tandem/ops/shape/meshgrid.h"
#include "tandem/ops/shape/repeat.h"
#include "tandem/ops/shape/select_slice.h"
#include "tandem/ops/shape/split.h"
#include "tandem/ops/shape/transpose.h"
#include "tandem/ops/shape/tril_triu.h"
#include "tandem/tests/op_cases/families.h"

namespace tandem::test {

static constexpr const char* kRows = "names the rows";
static constexpr OpCase kArrangeCases[] = {
    {"movedim", [](In in) { return movedim(in[0], 0, 2); }, {.integers = true, .view = true}},
    {"movedim/lists",
     [](In in) {
       return movedim(in[0], {0, 2}, {1, 0});
     },
     {.integers = true, .view = true}},
    {"swapaxes", [](In in) { return swapaxes(in[0], 0, 2); }, {.integers = true, .view = true}},
    {"numpy_T", [](In in) { return in[0].numpy_T(); }, {.integers = true, .view = true}},
    {"ravel", [](In in) { return ravel(in[0]); }, {.integers = true, .view = true}},
    {"broadcast_to",
     [](In in) {
       return broadcast_to(in[0], {2, 3, 4});
     },
     {.integers = true, .view = true, .no_empty = kRows}},
    {"broadcast_tensors",
     [](In in) {
       return broadcast_tensors({in[0], in[1]});
     },
     {.integers = true, .view = true}},
    {"atleast_1d", [](In in) { return atleast_1d(in[0]); }, {.integers = true, .view = true}},
    {"atleast_2d", [](In in) { return atleast_2d(in[0]); }, {.integers = true, .view = true}},
    {"atleast_2d/list",
     [](In in) {
       return atleast_2d({in[0], in[1]});
     },
     {.integers = true, .view = true}},
    {"atleast_3d", [](In in) { return atleast_3d(in[0]); }, {.integers = true, .view = true}},
    {"atleast_3d/vector", [](In in) { return atleast_3d(in[0]); }, {.integers = true, .view = true}},
    {"tensor_split", [](In in) { return tensor_split(in[0], 3, 2); }, {.integers = true, .view = true}},
    {"tensor_split/indices",
     [](In in) {
       return tensor_split(in[0], {1, 3, 3, 9}, 1);
     },
     {.integers = true, .view = true}},
    {"hsplit", [](In in) { return hsplit(in[0], 2); }, {.integers = true, .view = true}},
    {"hsplit/indices",
     [](In in) {
       return hsplit(in[0], {1, 3});
     },
     {.integers = true, .view = true}},
    {"hsplit/vector", [](In in) { return hsplit(in[0], 2); }, {.integers = true, .view = true}},
    {"vsplit", [](In in) { return vsplit(in[0], 2); }, {.integers = true, .view = true}},
    {"dsplit", [](In in) { return in[0].dsplit(IntArrayRef(2)); }, {.integers = true, .view = true}},
    {"meshgrid",
     [](In in) {
       return meshgrid({in[0], in[1], in[2]});
     },
     {.integers = true, .view = true}},
    {"meshgrid/xy",
     [](In in) {
       return meshgrid({in[0], in[1], in[2]}, "xy");
     },
     {.integers = true, .view = true}},
    {"diagonal", [](In in) { return diagonal(in[0]); }, {.integers = true, .view = true}},
    {"diagonal/above", [](In in) { return diagonal(in[0], 1, -1, 0); }, {.integers = true, .view = true}},
    {"diagonal/below", [](In in) { return diagonal(in[0], -2, 0, 2); }, {.integers = true, .view = true}},
    {"diagonal/beyond", [](In in) { return diagonal(in[0], 7); }, {.integers = true, .view = true}},
    {"diagonal/fill",
     [](In in) {
       const Tensor y = in[0].clone();
       y.diagonal().mul_(2);
       return y;
     },
     {.integers = true}},
    // ---- copies
    {"narrow_copy", [](In in) { return narrow_copy(in[0], 1, 1, 2); }, {.integers = true}},
    {"flip",
     [](In in) {
       return flip(in[0], {0, -1});
     },
     {.integers = true}},
    {"flip/none", [](In in) { return flip(in[0], {}); }, {.integers = true}},
    {"fliplr", [](In in) { return fliplr(in[0]); }, {.integers = true}},
    {"flipud", [](In in) { return flipud(in[0]); }, {.integers = true}},
    {"roll", [](In in) { return roll(in[0], 7); }, {.integers = true}},
    {"roll/dims",
     [](In in) {
       return roll(in[0], {1, -3}, {0, 2});
     },
     {.integers = true}},
    {"roll/none", [](In in) { return roll(in[0], 4, 1); }, {.integers = true}},
    {"rot90", [](In in) { return rot90(in[0]); }, {.integers = true}},
    {"rot90/half",
     [](In in) {
       return rot90(in[0], 2, {0, 2});
     },
     {.integers = true}},
    {"rot90/back",
     [](In in) {
       return rot90(in[0], -1, {1, 2});
     },
     {.integers = true}},
    {"rot90/whole", [](In in) { return rot90(in[0], 4); }, {.integers = true}},
    {"tile", [](In in) { return tile(in[0], 2); }, {.integers = true}},
    {"tile/more",
     [](In in) {
       return tile(in[0], {2, 1, 3});
     },
     {.integers = true}},
    {"repeat_interleave", [](In in) { return repeat_interleave(in[0], 2, 1); }, {.integers = true}},
    {"repeat_interleave/flat", [](In in) { return repeat_interleave(in[0], 3); }, {.integers = true}},
    {"repeat_interleave/each",
     [](In in) { return repeat_interleave(in[0], in[1], 1); },
     {.integers = true, .no_empty = kRows}},
    {"repeat_interleave/counts", [](In in) { return repeat_interleave(in[0]); }},
    {"hstack",
     [](In in) {
       return hstack({in[0], in[1]});
     },
     {.integers = true}},
    {"hstack/vectors",
     [](In in) {
       return hstack({in[0], in[1]});
     },
     {.integers = true}},
    {"vstack",
     [](In in) {
       return vstack({in[0], in[1]});
     },
     {.integers = true, .no_empty = kRows}},
    {"dstack",
     [](In in) {
       return dstack({in[0], in[1]});
     },
     {.integers = true}},
    {"column_stack",
     [](In in) {
       return column_stack({in[0], in[1]});
     },
     {.integers = true, .no_empty = kRows}},
    {"diag", [](In in) { return diag(in[0], 1); }, {.integers = true}},
    {"diag/matrix", [](In in) { return diag(in[0], -1); }, {.integers = true}},
    {"diag_embed", [](In in) { return diag_embed(in[0], -1, 0, 2); }, {.integers = true}},
    {"diag_embed/last", [](In in) { return diag_embed(in[0]); }, {.integers = true}},
    {"tril", [](In in) { return tril(in[0]); }, {.integers = true}},
    {"tril/below", [](In in) { return tril(in[0], -1); }, {.integers = true}},
    {"triu", [](In in) { return triu(in[0]); }, {.integers = true}},
    {"triu/above", [](In in) { return triu(in[0], 2); }, {.integers = true}},
    {"tril_", [](In in) { return (in[0] * 2).tril_(1); }, {.integers = true}},
    {"triu_", [](In in) { return (in[0] * 2).triu_(-1); }, {.integers = true}},
    {"trace", [](In in) { return trace(in[0]); }, {.integers = true}},
    {"row_stack",
     [](In in) {
       return row_stack({in[0], in[1]});
     },
     {.integers = true, .no_empty = kRows}},
    {"tril_/free",
     [](In in) {
       Tensor y = in[0].clone();
       return tril_(y, 1);
     },
     {.integers = true}},
    {"triu_/free",
     [](In in) {
       Tensor y = in[0].clone();
       return triu_(y, 1);
     },
     {.integers = true}},
    {"diagflat", [](In in) { return diagflat(in[0], -1); }, {.integers = true}},
    {"fill_diagonal_", [](In in) { return in[0].clone().fill_diagonal_(2); }, {.integers = true}},
    {"fill_diagonal_/wrap", [](In in) { return in[0].clone().fill_diagonal_(2, true); }, {.integers = true}},
    {"fill_diagonal_/cube",
     [](In in) { return in[0].clone().fill_diagonal_(2); },
     {.integers = true, .no_empty = "all sizes are one"}},
    {"block_diag",
     [](In in) {
       return block_diag({in[0], in[1], in[2]});
     },
     {.integers = true}},
    {"cartesian_prod",
     [](In in) {
       return cartesian_prod({in[0], in[1]});
     },
     {.integers = true}},
    {"combinations", [](In in) { return combinations(in[0], 3); }, {.integers = true}},
    {"combinations/replacement", [](In in) { return combinations(in[0], 2, true); }, {.integers = true}},
    {"vander", [](In in) { return vander(in[0]); }, {.no_half = "rounds its intermediate results"}},
    {"vander/increasing", [](In in) { return vander(in[0], 3, true); }, {.integers = true}},
};
const Family kArrange{"arrange", kArrangeCases};

}  // namespace tandem::test
