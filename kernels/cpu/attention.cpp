// Plans the CPU loops of attention. Each unit of work multiplies a block of queries by blocks of keys in one thread,
// with a few matrix products.
#include "tandem/kernels/attention.h"

#include <algorithm>

#include "tandem/kernels/cpu/gemm.h"
#include "tandem/kernels/cpu/planner.h"
#include "tandem/kernels/elementwise.h"

namespace tandem::kernels::cpu {

TANDEM_DECLARE_LOOP(attention_exps)
TANDEM_DECLARE_LOOP(attention_finish)
TANDEM_DECLARE_LOOP(attention_gradients)
namespace {

// Numbers of queries and keys in a block. The scores of a block, and in backward also their gradients, stay in the L2
// cache.
constexpr int64_t kQueries = 64, kKeys = 512, kBackwardKeys = 256;
// Number of units of work that backward aims at. If there are fewer matrices than this, the keys of each matrix are
// split into groups, which are units of work.
constexpr int64_t kUnits = 16;

struct Attention {
  int64_t l, s, e, v;
  bool causal;
  double scale;
  bool mask_is_bool;
  int64_t pieces;  // number of units of work per matrix: blocks of queries (forward) or groups of keys (backward)
  int64_t keys_per_group;  // number of keys in a group (backward)
  int64_t matrices;
  /// Returns the number of keys that the queries before index `query_end` see, counted from key 0.
  int64_t keys(int64_t query_end) const { return causal ? std::min(s, query_end) : s; }
};

/// Rows of one matrix of an operand: pointer to the first row, row stride in elements, and number of columns.
template <class T> struct Rows {
  T* data;
  int64_t row, columns;
  Rows from(int64_t first) const { return {data + first * row, row, columns}; }
  /// Returns the leading dimension for gemm, which must be at least `columns`. (The stride of a single row may be
  /// smaller.)
  int64_t leading_dimension() const { return std::max(row, columns); }
  void clear(int64_t rows) const {
    for (int64_t r = 0; r < rows; ++r) std::fill_n(data + r * row, columns, T(0));
  }
};
/// Returns matrix `index` of operand k. `index` is a linear index over the leading dimensions of the loop's extents.
template <class T> Rows<T> rows_of(const Loop& loop, int k, int64_t index, int64_t columns) {
  const Operand& o = loop.operands[k];
  const int leading = loop.extents.rank - 2;
  const auto size = static_cast<int64_t>(sizeof(T));
  if (!o.buffer) return {nullptr, 0, columns};
  int64_t offset = o.offset;
  for (int d = leading - 1; d >= 0; --d) {
    offset += index % loop.extents.size[d] * o.strides[d];
    index /= loop.extents.size[d];
  }
  return {reinterpret_cast<T*>(o.buffer->data + offset), o.strides[leading] / size, columns};
}
/// Mask of one matrix; `data` is null if there is no mask.
struct Mask {
  char* data;
  int64_t size, row, column;  // in elements
  Mask(const Loop& loop, int k, int64_t index, bool is_bool, size_t element)
      : size(is_bool ? 1 : static_cast<int64_t>(element)) {
    const Rows<char> bytes = rows_of<char>(loop, k, index, 0);
    data = bytes.data;
    row = bytes.row / size;
    column = data ? loop.operands[k].strides[loop.extents.rank - 1] / size : 0;
  }
  char* at(int64_t query, int64_t key) const { return data ? data + (query * row + key * column) * size : nullptr; }
};

/// Runs a loop body over `rows` rows of a block, in the calling thread.
template <class T>
void run_rows(const LoopTables& tables, const char* name, std::initializer_list<const void*> operands,
              std::initializer_list<LoopScalar> scalars, int64_t rows) {
  call_loop(select_body(tables, dtype_of<T>(), name), dtype_of<T>(), operands, scalars, rows);
}
/// Computes c = op(a) op(b), or c += op(a) op(b) if `accumulate`. op transposes if transpose_a or transpose_b is set.
template <class T>
void product(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const Rows<T>& a, const Rows<T>& b,
             bool accumulate, const Rows<T>& c) {
  gemm(Gemm{transpose_a, transpose_b, accumulate, m, n, k, a.leading_dimension(), b.leading_dimension(),
            c.leading_dimension()},
       a.data, b.data, c.data);
}

/// Computes out and lse for units [begin, end). A unit is a block of queries of one matrix. Operands: out, lse, q, k,
/// v, mask.
template <class T> void forward_units(const Attention& a, const Loop& loop, int64_t begin, int64_t end) {
  T *const scores = reinterpret_cast<T*>(loop_scratch()), *const peaks = scores + kQueries * kKeys,
           *const sums = peaks + kQueries;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t index = unit / a.pieces, query = unit % a.pieces * kQueries, rows = std::min(kQueries, a.l - query);
    const Rows<T> out = rows_of<T>(loop, 0, index, a.v).from(query), q = rows_of<T>(loop, 2, index, a.e).from(query),
                  k = rows_of<T>(loop, 3, index, a.e), v = rows_of<T>(loop, 4, index, a.v);
    const Mask mask(loop, 5, index, a.mask_is_bool, sizeof(T));
    const LoopScalar is_bool = integer(a.mask_is_bool), row = integer(mask.row), column = integer(mask.column);
    const int64_t keys = a.keys(query + rows);
    for (int64_t key = 0; key < keys; key += kKeys) {
      const int64_t width = std::min(kKeys, keys - key), seen = a.causal ? query + 1 - key : a.s;
      const Rows<T> block{scores, width, width};
      product(false, true, rows, width, a.e, q, k.from(key), false, block);
      run_rows<T>(loops::attention_exps, "attention", {scores, peaks, sums, out.data, mask.at(query, key)},
                  {integer(width), integer(seen), real(a.scale), is_bool, row, column, integer(key == 0), integer(a.v),
                   integer(out.row)},
                  rows);
      product(false, false, rows, a.v, width, block, v.from(key), key > 0, out);
    }
    run_rows<T>(loops::attention_finish, "attention",
                {peaks, sums, out.data, data<T>(loop, 1) + index * a.l + query, mask.at(query, 0)},
                {integer(a.s), {}, {}, is_bool, row, column, integer(a.v), integer(out.row)}, rows);
  }
}

/// Computes the gradients for units [begin, end). A unit is a group of keys of one matrix: it writes the gradients of
/// these keys and values, and the group's contribution to the gradient of the queries. Operands: dq (contribution of
/// the first group), dk, dv, contributions of the other groups to dq, dout, q, k, v, out, lse, mask.
template <class T> void backward_units(const Attention& a, const Loop& loop, int64_t begin, int64_t end) {
  T *const scores = reinterpret_cast<T*>(loop_scratch()), *const gradients = scores + kQueries * kBackwardKeys;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t index = unit / a.pieces, group = unit % a.pieces;
    const Rows<T> dk = rows_of<T>(loop, 1, index, a.e), dv = rows_of<T>(loop, 2, index, a.v),
                  dout = rows_of<T>(loop, 4, index, a.v), q = rows_of<T>(loop, 5, index, a.e),
                  k = rows_of<T>(loop, 6, index, a.e), v = rows_of<T>(loop, 7, index, a.v),
                  out = rows_of<T>(loop, 8, index, a.v);
    const Rows<T> dq = group == 0
                           ? rows_of<T>(loop, 0, index, a.e)
                           : Rows<T>{data<T>(loop, 3) + ((group - 1) * a.matrices + index) * a.l * a.e, a.e, a.e};
    const T* const lse = data<T>(loop, 9) + index * a.l;
    const Mask mask(loop, 10, index, a.mask_is_bool, sizeof(T));
    const int64_t first = group * a.keys_per_group, last = std::min(a.s, first + a.keys_per_group);
    dq.clear(a.l);
    dk.from(first).clear(last - first);
    dv.from(first).clear(last - first);
    for (int64_t key = first; key < last; key += kBackwardKeys) {
      for (int64_t query = a.causal ? key / kQueries * kQueries : 0; query < a.l; query += kQueries) {
        const int64_t rows = std::min(kQueries, a.l - query);
        const int64_t width = std::min(kBackwardKeys, std::min(last, a.keys(query + rows)) - key);
        const Rows<T> block{scores, width, width}, gradient{gradients, width, width};
        product(false, true, rows, width, a.e, q.from(query), k.from(key), false, block);
        product(false, true, rows, width, a.v, dout.from(query), v.from(key), false, gradient);
        run_rows<T>(loops::attention_gradients, "attention_backward",
                    {scores, gradients, lse + query, out.from(query).data, dout.from(query).data, mask.at(query, key)},
                    {integer(width), integer(a.causal ? query + 1 - key : a.s), real(a.scale), integer(a.mask_is_bool),
                     integer(mask.row), integer(mask.column), integer(a.v), integer(out.row), integer(dout.row)},
                    rows);
        product(true, false, width, a.v, rows, block, dout.from(query), true, dv.from(key));
        product(true, false, width, a.e, rows, gradient, q.from(query), true, dk.from(key));
        product(false, false, rows, a.e, width, gradient, k.from(key), true, dq.from(query));
      }
    }
  }
}

Attention attention_of(const Tensor& q, const Tensor& v, const Tensor& mask, bool causal, double scale) {
  const int64_t l = q.size(-2), e = q.size(-1);
  return {l, v.size(-2),         e, v.size(-1), causal, scale, mask.defined() && mask.dtype() == kBool, 1,
          0, q.numel() / (l * e)};
}

}  // namespace

void attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool causal, double scale,
               Tensor& out, Tensor& lse) {
  Attention a = attention_of(q, v, mask, causal, scale);
  a.pieces = ceil_div(a.l, kQueries);
  const auto body = [](const Attention& each, const Loop& loop, int64_t begin, int64_t end) {
    (loop.dtype == kFloat64 ? forward_units<double> : forward_units<float>)(each, loop, begin, end);
  };
  run(plan_call("attention", q.dtype(), {out, lse}, {q, k, v, mask}, a, body, a.matrices * a.pieces, 1,
                kQueries * (kKeys + 2) * q.itemsize()));
}

void attention_backward(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                        const Tensor& out, const Tensor& lse, bool causal, double scale, Tensor& dq, Tensor& dk,
                        Tensor& dv) {
  Attention a = attention_of(q, v, mask, causal, scale);
  a.pieces = std::min(ceil_div(kUnits, a.matrices), ceil_div(a.s, kBackwardKeys));
  a.keys_per_group = ceil_div(ceil_div(a.s, a.pieces), kBackwardKeys) * kBackwardKeys;
  a.pieces = ceil_div(a.s, a.keys_per_group);
  Tensor parts;
  if (a.pieces > 1) {
    Shape sizes{a.pieces - 1};
    for (const int64_t n : q.sizes()) sizes.push_back(n);
    parts = core::empty(sizes, q.dtype(), q.device());
  }
  const auto body = [](const Attention& each, const Loop& loop, int64_t begin, int64_t end) {
    (loop.dtype == kFloat64 ? backward_units<double> : backward_units<float>)(each, loop, begin, end);
  };
  run(plan_call("attention_backward", q.dtype(), {dq, dk, dv, parts}, {dout, q, k, v, out, lse, mask}, a, body,
                a.matrices * a.pieces, 1, 2 * kQueries * kBackwardKeys * q.itemsize()));
  for (int64_t i = 0; i + 1 < a.pieces; ++i) add(dq, core::select(parts, 0, i), 1, dq);
}

}  // namespace tandem::kernels::cpu
