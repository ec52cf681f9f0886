// Implements stack_rows, gather_rows and merge_rows, which copy bytes row by row, or call stack and index_select if
// autograd must record the operation.
#include "tandem/data/rows.h"

#include <cstring>

#include "tandem/core/internal.h"
#include "tandem/ops/shape/cat.h"

namespace tandem::data::detail {
namespace {

bool compute_requires_grad(const Tensor& x) { return is_grad_enabled() && x.requires_grad(); }

}  // namespace

Tensor stack_rows(TensorList rows) {
  TANDEM_CHECK(!rows.empty(), "stack expects a non-empty TensorList; a batch needs at least one example");
  const Tensor& first = rows[0];
  bool can_memcpy = true;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Tensor& row = rows[i];
    TANDEM_CHECK(row.sizes() == first.sizes(), "stack expects each tensor to be equal size, but got ", first.sizes(),
                 " at entry 0 and ", row.sizes(), " at entry ", i);
    TANDEM_CHECK(row.dtype() == first.dtype() && row.device() == first.device(), "stack: entry 0 is ", first.dtype(),
                 " on ", first.device(), " and entry ", i, " is ", row.dtype(), " on ", row.device(),
                 "; the examples of a batch need equal dtypes and devices");
    can_memcpy = can_memcpy && row.is_cpu() && row.is_contiguous() && !compute_requires_grad(row);
  }
  if (!can_memcpy) return stack(rows);
  Shape sizes = first.sizes();
  sizes.insert(0, static_cast<int64_t>(rows.size()));
  Tensor out = core::empty(sizes, first.dtype(), first.device());
  const auto bytes = static_cast<size_t>(first.nbytes());
  auto* to = static_cast<char*>(out.raw_data());
  if (bytes > 0)
    for (size_t i = 0; i < rows.size(); ++i) std::memcpy(to + i * bytes, rows[i].raw_data(), bytes);
  return out;
}

Tensor gather_rows(const Tensor& source, ArrayRef<size_t> indices) {
  TANDEM_CHECK(source.dim() > 0, "gather_rows: source is a scalar; accepted: a tensor of one dimension or more");
  const auto count = static_cast<size_t>(source.size(0));
  for (const size_t i : indices)
    TANDEM_CHECK_AS(IndexError, i < count, "get_batch: index ", i, " out of range for tensor of size ", source.sizes(),
                    " at dimension 0");
  Shape sizes = source.sizes();
  sizes[0] = static_cast<int64_t>(indices.size());
  if (!source.is_cpu() || !source.is_contiguous() || compute_requires_grad(source)) {
    Tensor index = core::empty({sizes[0]}, kInt64, kCPU);
    for (size_t i = 0; i < indices.size(); ++i) index.data<int64_t>()[i] = static_cast<int64_t>(indices[i]);
    return source.index_select(0, index.to(source.device()));
  }
  Tensor out = core::empty(sizes, source.dtype(), source.device());
  const size_t bytes = count == 0 ? 0 : static_cast<size_t>(source.nbytes()) / count;
  const auto* from = static_cast<const char*>(source.raw_data());
  auto* to = static_cast<char*>(out.raw_data());
  if (bytes > 0)
    for (size_t i = 0; i < indices.size(); ++i) std::memcpy(to + i * bytes, from + indices[i] * bytes, bytes);
  return out;
}

Tensor merge_rows(TensorList sources, const std::vector<RowPosition>& positions) {
  const Tensor& first = sources[0];
  bool can_memcpy = true;
  std::vector<size_t> starts{0};  // position of each source's first row, if all sources are concatenated
  for (size_t i = 0; i < sources.size(); ++i) {
    const Tensor& source = sources[i];
    TANDEM_CHECK(source.sizes().drop_front() == first.sizes().drop_front(), "stack expects each tensor to be equal ",
                 "size, but dataset 0 has examples ", first.sizes().drop_front(), " and another dataset ",
                 source.sizes().drop_front());
    TANDEM_CHECK(source.dtype() == first.dtype() && source.device() == first.device(), "stack: dataset 0 has examples ",
                 first.dtype(), " on ", first.device(), " and another dataset ", source.dtype(), " on ",
                 source.device(), "; the examples of a batch need equal dtypes and devices");
    can_memcpy = can_memcpy && source.is_cpu() && source.is_contiguous() && !compute_requires_grad(source);
    starts.push_back(starts.back() + static_cast<size_t>(source.size(0)));
  }
  if (!can_memcpy) {
    std::vector<size_t> rows;
    rows.reserve(positions.size());
    for (const RowPosition& at : positions) rows.push_back(starts[at.source] + at.row);
    return gather_rows(cat(sources), rows);
  }
  Shape sizes = first.sizes();
  sizes[0] = static_cast<int64_t>(positions.size());
  Tensor out = core::empty(sizes, first.dtype(), first.device());
  const size_t bytes = positions.empty() ? 0 : static_cast<size_t>(out.nbytes()) / positions.size();
  auto* to = static_cast<char*>(out.raw_data());
  if (bytes > 0)
    for (size_t i = 0; i < positions.size(); ++i) {
      const auto* from = static_cast<const char*>(sources[positions[i].source].raw_data());
      std::memcpy(to + i * bytes, from + positions[i].row * bytes, bytes);
    }
  return out;
}

Tensor to_channel_tensor(ArrayRef<double> values) {
  Tensor out = core::empty({static_cast<int64_t>(values.size()), 1, 1}, kFloat32, kCPU);
  for (size_t i = 0; i < values.size(); ++i) out.data<float>()[i] = static_cast<float>(values[i]);
  return out;
}

}  // namespace tandem::data::detail
