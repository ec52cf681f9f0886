// Plans the CPU loops of attention. Each unit of work multiplies a block of queries by blocks of keys in one thread,
// with a few matrix products. If the operands are of a half type, blocks of them are converted to float32. On
// processors that multiply bfloat16, the factors of products stay bfloat16: scores and sums are float32, and weights
// are rounded.
#include "tandem/kernels/attention.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "tandem/kernels/cpu/gemm.h"
#include "tandem/kernels/cpu/planner.h"
#include "tandem/kernels/elementwise.h"

namespace tandem::kernels::cpu {

TANDEM_DECLARE_LOOP(attention_exps)
TANDEM_DECLARE_LOOP(attention_finish)
TANDEM_DECLARE_LOOP(attention_gradients)
TANDEM_DECLARE_LOOP(attention_widen)
TANDEM_DECLARE_LOOP(attention_narrow)
namespace {

// Numbers of queries and keys in a block. The scores of a block, and in backward also their gradients, stay in the L2
// cache.
constexpr int64_t kQueryBlockSize = 64, kKeyBlockSize = 512, kBackwardKeyBlockSize = 256;
// Number of units of work that backward aims at. If there are fewer (batch, head) matrices than this, the keys of each
// matrix are split into groups, and each group is a unit of work.
constexpr int64_t kTargetWorkUnits = 16;

struct Attention {
  int64_t l, s, e, v;
  bool causal;
  double scale;
  double dropout_p;
  DType mask_dtype;
  bool half;               // whether the operands are of a half type
  bool bfloat16_products;  // whether the factors of products are bfloat16
  int64_t
      units_per_matrix;  // number of units of work per matrix: blocks of queries (forward) or groups of keys (backward)
  int64_t keys_per_group;  // number of keys in a group (backward)
  int64_t num_matrices;
  /// Returns the scalars with which loops find the random numbers of a block's weights.
  std::array<LoopScalar, 3> dropout(int64_t matrix, int64_t query, int64_t key) const {
    return {real(1 - dropout_p), integer((matrix * l + query) * s + key), integer(s)};
  }
  /// Returns the number of keys that are visible to at least one of the queries [0, query_end). These are the first
  /// keys.
  int64_t num_visible_keys(int64_t query_end) const { return causal ? std::min(s, query_end) : s; }
};

/// Rows of one matrix of an operand: pointer to the first row, row stride in elements, and number of columns.
template <class T> struct MatrixRows {
  T* data;
  int64_t row_stride, columns;
  MatrixRows from_row(int64_t first) const { return {data + first * row_stride, row_stride, columns}; }
  /// Returns the leading dimension for gemm, which must be at least `columns`. (The stride of a single row may be
  /// smaller.)
  int64_t leading_dimension() const { return std::max(row_stride, columns); }
  void clear(int64_t rows) const {
    for (int64_t r = 0; r < rows; ++r) std::fill_n(data + r * row_stride, columns, T(0));
  }
};
/// Returns matrix `index` of operand k. `index` is a linear index over the leading dimensions of the loop's extents.
template <class T> MatrixRows<T> matrix_rows(const Loop& loop, int k, int64_t index, int64_t columns) {
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
  int64_t size;                       // bytes per element
  int64_t row_stride, column_stride;  // in elements
  Mask(const Loop& loop, int k, int64_t index, DType dtype) : size(static_cast<int64_t>(element_size(dtype))) {
    const MatrixRows<char> bytes = matrix_rows<char>(loop, k, index, 0);
    data = bytes.data;
    row_stride = bytes.row_stride / size;
    column_stride = data ? loop.operands[k].strides[loop.extents.rank - 1] / size : 0;
  }
  char* at(int64_t query, int64_t key) const {
    return data ? data + (query * row_stride + key * column_stride) * size : nullptr;
  }
};

/// Runs a loop body over the first `rows` rows of a block of scores, in the calling thread.
template <class T>
void run_row_loop(const LoopTables& tables, const char* name, std::initializer_list<const void*> operands,
                  std::initializer_list<LoopScalar> scalars, int64_t rows) {
  call_loop(select_body(tables, dtype_of<T>(), name), dtype_of<T>(), operands, scalars, rows);
}
/// Computes c = op(a) op(b), or c += op(a) op(b) if `accumulate`. op transposes if transpose_a or transpose_b is set.
/// F, the type of the factors, is T or BFloat16.
template <class F, class T>
void multiply_rows(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const MatrixRows<F>& a,
                   const MatrixRows<F>& b, bool accumulate, const MatrixRows<T>& c) {
  const Gemm g{transpose_a,           transpose_b,           accumulate,           m, n, k,
               a.leading_dimension(), b.leading_dimension(), c.leading_dimension()};
  if constexpr (std::is_same_v<F, T>)
    gemm(g, a.data, b.data, c.data);
  else
    onednn_gemm(g, a.data, b.data, c.data);
}
/// Returns a block as a factor of products: the block itself or, if F is BFloat16, a rounded copy in `room`.
template <class F, class T> MatrixRows<F> as_factor(const MatrixRows<T>& block, int64_t rows, F* room) {
  if constexpr (std::is_same_v<F, T>) {
    return block;
  } else {
    const LoopScalar columns = integer(block.columns);
    call_loop(select_body(loops::attention_narrow, kBFloat16, "attention"), kBFloat16, {room, block.data},
              {columns, columns}, rows);
    return {room, block.columns, block.columns};
  }
}

/// Returns `count`, rounded up so that parts of the scratch memory start at multiples of 64 bytes.
int64_t padded(int64_t count) { return ceil_div(count, 16) * 16; }
/// Hands out parts of the loop's scratch memory.
template <class T> class ScratchParts {
 public:
  T* take(int64_t count) {
    T* const taken = next_;
    next_ += padded(count);
    return taken;
  }

 private:
  T* next_ = reinterpret_cast<T*>(loop_scratch());
};

/// Matrix `index` of operand k, whose rows are computed in T. Rows of a half type are converted in memory that the
/// caller provides (`room`).
template <class T> class Matrix {
 public:
  Matrix(const Loop& loop, int k, int64_t index, int64_t columns)
      : rows_(matrix_rows<T>(loop, k, index, columns)), dtype_(loop.dtype) {
    if (is_reduced_floating_point(dtype_)) rows_.row_stride = matrix_rows<Half>(loop, k, index, columns).row_stride;
  }
  /// Returns `count` rows from row `first` on: in place or, for a half type, converted.
  MatrixRows<T> read(int64_t first, int64_t count, T* room) const {
    if (is_reduced_floating_point(dtype_)) convert(loops::attention_widen, room, half_rows(first), count);
    return place(first, room);
  }
  /// Like read(), but the rows are factors of products. If F is BFloat16, they are used in place.
  template <class F> MatrixRows<F> factor(int64_t first, int64_t count, T* room) const {
    if constexpr (std::is_same_v<F, T>)
      return read(first, count, room);
    else
      return {reinterpret_cast<F*>(half_rows(first)), rows_.row_stride, rows_.columns};
  }
  /// Returns the memory in which to compute rows from row `first` on. Call write() afterwards.
  MatrixRows<T> place(int64_t first, T* room) const {
    return is_reduced_floating_point(dtype_) ? MatrixRows<T>{room, rows_.columns, rows_.columns}
                                             : rows_.from_row(first);
  }
  void write(int64_t first, int64_t count, const MatrixRows<T>& computed) const {
    if (is_reduced_floating_point(dtype_)) convert(loops::attention_narrow, half_rows(first), computed.data, count);
  }

 private:
  Half* half_rows(int64_t first) const { return reinterpret_cast<Half*>(rows_.data) + first * rows_.row_stride; }
  void convert(const LoopTables& tables, void* to, const void* from_row, int64_t count) const {
    call_loop(select_body(tables, dtype_, "attention"), dtype_, {to, from_row},
              {integer(rows_.columns), integer(rows_.row_stride)}, count);
  }

  MatrixRows<T> rows_;  // the row stride counts elements of dtype_
  DType dtype_;
};

/// Returns the number of elements of scratch memory that forward_units() takes.
int64_t forward_scratch(const Attention& a) {
  const int64_t num_keys = std::min(kKeyBlockSize, a.s),
                scores = padded(kQueryBlockSize * kKeyBlockSize) + 2 * padded(kQueryBlockSize);
  if (!a.half) return scores;
  return scores + padded(kQueryBlockSize * a.v) +
         (a.bfloat16_products ? padded(kQueryBlockSize * kKeyBlockSize / 2)
                              : padded(kQueryBlockSize * a.e) + padded(num_keys * a.e) + padded(num_keys * a.v));
}
/// Computes out and lse for units [begin, end). A unit is a block of queries of one matrix. F is the type of the
/// factors of products. Operands: out, lse, q, k, v, mask, random.
template <class T, class F> void forward_units(const Attention& a, const Loop& loop, int64_t begin, int64_t end) {
  ScratchParts<T> scratch;
  T *const scores = scratch.take(kQueryBlockSize * kKeyBlockSize), *const peaks = scratch.take(kQueryBlockSize),
           *const sums = scratch.take(kQueryBlockSize);
  const int64_t num_keys = std::min(kKeyBlockSize, a.s);
  constexpr bool kLowFactors = !std::is_same_v<F, T>;
  const auto take_if = [&](bool needed, int64_t count) { return needed ? scratch.take(count) : nullptr; };
  const bool converted = a.half && !kLowFactors;
  T *const out_room = take_if(a.half, kQueryBlockSize * a.v), *const q_room = take_if(converted, kQueryBlockSize * a.e),
           *const k_room = take_if(converted, num_keys * a.e), *const v_room = take_if(converted, num_keys * a.v);
  F* const weights = reinterpret_cast<F*>(take_if(kLowFactors, kQueryBlockSize * kKeyBlockSize / 2));
  const void* const random = data<char>(loop, 6);
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t index = unit / a.units_per_matrix, query = unit % a.units_per_matrix * kQueryBlockSize,
                  rows = std::min(kQueryBlockSize, a.l - query);
    const Matrix<T> k(loop, 3, index, a.e), v(loop, 4, index, a.v), all_out(loop, 0, index, a.v);
    const MatrixRows<F> q = Matrix<T>(loop, 2, index, a.e).template factor<F>(query, rows, q_room);
    const MatrixRows<T> out = all_out.place(query, out_room);
    const Mask mask(loop, 5, index, a.mask_dtype);
    const LoopScalar dtype = integer(static_cast<int64_t>(a.mask_dtype)), row_stride = integer(mask.row_stride),
                     column_stride = integer(mask.column_stride);
    const int64_t num_visible_keys = a.num_visible_keys(query + rows);
    for (int64_t key = 0; key < num_visible_keys; key += kKeyBlockSize) {
      const int64_t width = std::min(kKeyBlockSize, num_visible_keys - key), seen = a.causal ? query + 1 - key : a.s;
      const MatrixRows<T> block{scores, width, width};
      const auto [keep, first, line] = a.dropout(index, query, key);
      multiply_rows(false, true, rows, width, a.e, q, k.template factor<F>(key, width, k_room), false, block);
      run_row_loop<T>(loops::attention_exps, "attention", {scores, peaks, sums, out.data, mask.at(query, key), random},
                      {integer(width), integer(seen), real(a.scale), dtype, row_stride, column_stride,
                       integer(key == 0), integer(a.v), integer(out.row_stride), keep, first, line},
                      rows);
      multiply_rows(false, false, rows, a.v, width, as_factor<F>(block, rows, weights),
                    v.template factor<F>(key, width, v_room), key > 0, out);
    }
    run_row_loop<T>(loops::attention_finish, "attention",
                    {peaks, sums, out.data, data<T>(loop, 1) + index * a.l + query, mask.at(query, 0)},
                    {integer(a.s), {}, {}, dtype, row_stride, column_stride, integer(a.v), integer(out.row_stride)},
                    rows);
    all_out.write(query, rows, out);
  }
}

/// Computes the gradients for units [begin, end). A unit is a group of keys of one matrix: it writes the gradients of
/// these keys and values, and the group's contribution to the gradient of the queries, which is never of a half type.
/// F is the type of the factors of products. Operands: dq (contribution of the first group), dk, dv, contributions of
/// the other groups to dq, dout, q, k, v, out, lse, mask, random.
template <class T, class F> class BackwardUnits {
 public:
  BackwardUnits(const Attention& a, const Loop& loop) : a_(a), loop_(loop) {
    ScratchParts<T> scratch;
    scores_ = scratch.take(kQueryBlockSize * kBackwardKeyBlockSize);
    gradients_ = scratch.take(kQueryBlockSize * kBackwardKeyBlockSize);
    if (!a.half) return;
    const int64_t num_keys = std::min(kBackwardKeyBlockSize, a.s);
    dk_ = scratch.take(num_keys * a.e);
    dv_ = scratch.take(num_keys * a.v);
    out_ = scratch.take(kQueryBlockSize * a.v);
    dout_ = scratch.take(kQueryBlockSize * a.v);
    if (kLowFactors) {
      low_scores_ = reinterpret_cast<F*>(scratch.take(kQueryBlockSize * kBackwardKeyBlockSize / 2));
      low_gradients_ = reinterpret_cast<F*>(scratch.take(kQueryBlockSize * kBackwardKeyBlockSize / 2));
    } else {
      k_ = scratch.take(num_keys * a.e);
      v_ = scratch.take(num_keys * a.v);
      q_ = scratch.take(kQueryBlockSize * a.e);
    }
  }
  void run(int64_t unit) const {
    const int64_t index = unit / a_.units_per_matrix, group = unit % a_.units_per_matrix;
    const Matrix<T> all_k(loop_, 6, index, a_.e), all_v(loop_, 7, index, a_.v), all_dk(loop_, 1, index, a_.e),
        all_dv(loop_, 2, index, a_.v);
    const MatrixRows<T> dq =
        group == 0
            ? matrix_rows<T>(loop_, 0, index, a_.e)
            : MatrixRows<T>{data<T>(loop_, 3) + ((group - 1) * a_.num_matrices + index) * a_.l * a_.e, a_.e, a_.e};
    const int64_t first = group * a_.keys_per_group, last = std::min(a_.s, first + a_.keys_per_group);
    dq.clear(a_.l);
    for (int64_t key = first; key < last; key += kBackwardKeyBlockSize) {
      const int64_t num_keys = std::min(kBackwardKeyBlockSize, last - key);
      const MatrixRows<T> dk = all_dk.place(key, dk_), dv = all_dv.place(key, dv_);
      dk.clear(num_keys);
      dv.clear(num_keys);
      run_keys(index, key, last, all_k.template factor<F>(key, num_keys, k_),
               all_v.template factor<F>(key, num_keys, v_), dq, dk, dv);
      all_dk.write(key, num_keys, dk);
      all_dv.write(key, num_keys, dv);
    }
  }

 private:
  /// Adds the contributions of one block of keys, which starts at `key`, of a group that ends before `last`.
  void run_keys(int64_t index, int64_t key, int64_t last, const MatrixRows<F>& k, const MatrixRows<F>& v,
                const MatrixRows<T>& dq, const MatrixRows<T>& dk, const MatrixRows<T>& dv) const {
    const Matrix<T> all_dout(loop_, 4, index, a_.v), all_q(loop_, 5, index, a_.e), all_out(loop_, 8, index, a_.v);
    const Mask mask(loop_, 10, index, a_.mask_dtype);
    const T* const lse = data<T>(loop_, 9) + index * a_.l;
    for (int64_t query = a_.causal ? key / kQueryBlockSize * kQueryBlockSize : 0; query < a_.l;
         query += kQueryBlockSize) {
      const int64_t rows = std::min(kQueryBlockSize, a_.l - query);
      const int64_t width = std::min(kBackwardKeyBlockSize, std::min(last, a_.num_visible_keys(query + rows)) - key);
      const MatrixRows<F> q = all_q.template factor<F>(query, rows, q_);
      const MatrixRows<T> dout = all_dout.read(query, rows, dout_), out = all_out.read(query, rows, out_),
                          block{scores_, width, width}, gradient{gradients_, width, width};
      MatrixRows<F> dout_factor;
      if constexpr (kLowFactors)
        dout_factor = all_dout.template factor<F>(query, rows, nullptr);
      else
        dout_factor = dout;
      const auto [keep, first, line] = a_.dropout(index, query, key);
      multiply_rows(false, true, rows, width, a_.e, q, k, false, block);
      multiply_rows(false, true, rows, width, a_.v, dout_factor, v, false, gradient);
      run_row_loop<T>(
          loops::attention_gradients, "attention_backward",
          {scores_, gradients_, lse + query, out.data, dout.data, mask.at(query, key), data<char>(loop_, 11)},
          {integer(width), integer(a_.causal ? query + 1 - key : a_.s), real(a_.scale),
           integer(static_cast<int64_t>(a_.mask_dtype)), integer(mask.row_stride), integer(mask.column_stride),
           integer(a_.v), integer(out.row_stride), integer(dout.row_stride), keep, first, line},
          rows);
      const MatrixRows<F> weights = as_factor<F>(block, rows, low_scores_),
                          slopes = as_factor<F>(gradient, rows, low_gradients_);
      multiply_rows(true, false, width, a_.v, rows, weights, dout_factor, true, dv);
      multiply_rows(true, false, width, a_.e, rows, slopes, q, true, dk);
      multiply_rows(false, false, rows, a_.e, width, slopes, k, true, dq.from_row(query));
    }
  }

  const Attention& a_;
  const Loop& loop_;
  static constexpr bool kLowFactors = !std::is_same_v<F, T>;
  T *scores_, *gradients_;
  F *low_scores_ = nullptr, *low_gradients_ = nullptr;  // rounded copies, if F is BFloat16
  // memory for converted blocks; null if no block is converted
  T *k_ = nullptr, *v_ = nullptr, *dk_ = nullptr, *dv_ = nullptr, *q_ = nullptr, *out_ = nullptr, *dout_ = nullptr;
};
/// Returns the number of elements of scratch memory that BackwardUnits takes.
int64_t backward_scratch(const Attention& a) {
  const int64_t num_keys = std::min(kBackwardKeyBlockSize, a.s),
                scores = 2 * padded(kQueryBlockSize * kBackwardKeyBlockSize);
  if (!a.half) return scores;
  const int64_t of_keys = padded(num_keys * a.e) + padded(num_keys * a.v);
  return scores + of_keys + 2 * padded(kQueryBlockSize * a.v) +
         (a.bfloat16_products ? 2 * padded(kQueryBlockSize * kBackwardKeyBlockSize / 2)
                              : of_keys + padded(kQueryBlockSize * a.e));
}
template <class T, class F> void backward_units(const Attention& a, const Loop& loop, int64_t begin, int64_t end) {
  const BackwardUnits<T, F> units(a, loop);
  for (int64_t unit = begin; unit < end; ++unit) units.run(unit);
}

Attention make_attention(const Tensor& q, const Tensor& v, const Tensor& mask, bool causal, double scale,
                         double dropout_p) {
  Attention a{};
  a.l = q.size(-2), a.s = v.size(-2), a.e = q.size(-1), a.v = v.size(-1);
  a.num_matrices = q.numel() / (a.l * a.e);
  a.causal = causal, a.scale = scale, a.dropout_p = dropout_p;
  a.mask_dtype = mask.defined() ? mask.dtype() : q.dtype();
  a.half = is_reduced_floating_point(q.dtype());
  // If the products of a block are smaller, oneDNN takes longer to start than it saves.
  a.bfloat16_products =
      q.dtype() == kBFloat16 && onednn_supports_bfloat16() &&
      std::min(kQueryBlockSize, a.l) * std::min(kBackwardKeyBlockSize, a.s) * std::min(a.e, a.v) >= 200'000;
  return a;
}

}  // namespace

void attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool causal, double scale,
               double dropout_p, const Tensor& random, Tensor& out, Tensor& lse) {
  Attention a = make_attention(q, v, mask, causal, scale, dropout_p);
  a.units_per_matrix = ceil_div(a.l, kQueryBlockSize);
  const auto body = [](const Attention& each, const Loop& loop, int64_t begin, int64_t end) {
    const auto units = loop.dtype == kFloat64   ? forward_units<double, double>
                       : each.bfloat16_products ? forward_units<float, BFloat16>
                                                : forward_units<float, float>;
    units(each, loop, begin, end);
  };
  run(plan_call("attention", q.dtype(), {out, lse}, {q, k, v, mask, random}, a, body,
                a.num_matrices * a.units_per_matrix, 1, forward_scratch(a) * lse.itemsize()));
}

void attention_backward(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                        const Tensor& out, const Tensor& lse, bool causal, double scale, double dropout_p,
                        const Tensor& random, Tensor& dq, Tensor& dk, Tensor& dv) {
  Attention a = make_attention(q, v, mask, causal, scale, dropout_p);
  a.units_per_matrix = std::min(ceil_div(kTargetWorkUnits, a.num_matrices), ceil_div(a.s, kBackwardKeyBlockSize));
  a.keys_per_group = ceil_div(ceil_div(a.s, a.units_per_matrix), kBackwardKeyBlockSize) * kBackwardKeyBlockSize;
  a.units_per_matrix = ceil_div(a.s, a.keys_per_group);
  Tensor sum = a.half ? core::empty(q.sizes(), lse.dtype(), q.device()) : dq, parts;
  if (a.units_per_matrix > 1) {
    Shape sizes{a.units_per_matrix - 1};
    for (const int64_t n : q.sizes()) sizes.push_back(n);
    parts = core::empty(sizes, lse.dtype(), q.device());
  }
  const auto body = [](const Attention& each, const Loop& loop, int64_t begin, int64_t end) {
    const auto units = loop.dtype == kFloat64   ? backward_units<double, double>
                       : each.bfloat16_products ? backward_units<float, BFloat16>
                                                : backward_units<float, float>;
    units(each, loop, begin, end);
  };
  run(plan_call("attention_backward", q.dtype(), {sum, dk, dv, parts}, {dout, q, k, v, out, lse, mask, random}, a, body,
                a.num_matrices * a.units_per_matrix, 1, backward_scratch(a) * lse.itemsize()));
  for (int64_t i = 0; i + 1 < a.units_per_matrix; ++i) add(sum, core::select(parts, 0, i), 1, sum);
  if (a.half) copy(sum, dq);
}

}  // namespace tandem::kernels::cpu
