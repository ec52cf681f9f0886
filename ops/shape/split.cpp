// Splitting tensors into parts: split, chunk, unbind, tensor_split, hsplit, vsplit, dsplit, unsafe_split, unsafe_chunk.
#include "tandem/ops/shape/split.h"

#include <algorithm>

#include "tandem/ops/define_op.h"
#include "tandem/ops/shape/view_helpers.h"

namespace tandem {

TANDEM_CAST_POLICY(none, chunk, dsplit, hsplit, split, tensor_split, unbind, unsafe_chunk, unsafe_split,
                   unsafe_split_with_sizes, vsplit);

namespace {
std::vector<Tensor> split_with_sizes_impl(const char* op, const Tensor& x, IntArrayRef sizes, int64_t d) {
  std::vector<Tensor> parts;
  parts.reserve(sizes.size());
  int64_t at = 0;
  for (const int64_t size : sizes) {
    parts.push_back(core::narrow(x, d, at, size));
    at += size;
  }
  return record_multi_output_view(
      op, std::move(parts), x,
      [d, whole = Shape(x.sizes()), lengths = sizes.vec()](const BackwardContext&, const Grads& dy) -> Grads {
        const Tensor& like = *std::find_if(dy.begin(), dy.end(), [](auto& g) { return g.defined(); });
        Grads all = dy;
        for (size_t i = 0; i < all.size(); ++i) {
          if (all[i].defined()) continue;
          Shape sizes = whole;
          sizes[static_cast<size_t>(d)] = lengths[i];
          all[i] = zeros(sizes, like.options());
        }
        return {cat(all, d)};
      });
}
/// Splits x into parts of size `part`; the last part may be smaller. A dimension of size 0 gives one part.
std::vector<Tensor> split_evenly(const char* op, const Tensor& x, int64_t part, int64_t d) {
  const int64_t size = x.size(d);
  std::vector<int64_t> sizes;
  for (int64_t at = 0; at < size || sizes.empty(); at += part) sizes.push_back(std::min(part, size - at));
  return split_with_sizes_impl(op, x, sizes, d);
}
}  // namespace
std::vector<Tensor> Tensor::split(IntArrayRef parts, int64_t d) const {
  check_has_dims("split", *this);
  d = wrap_dim("split", d, dim());
  int64_t total = 0;
  bool negative = false;
  for (const int64_t p : parts) {
    total += p;
    negative |= p < 0;
  }
  TANDEM_CHECK(!negative,
               "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=", parts);
  TANDEM_CHECK(total == size(d), "split_with_sizes expects split_sizes to sum exactly to ", size(d),
               " (input tensor's size at dimension ", d, "), but got split_sizes=", parts);
  return split_with_sizes_impl("split", *this, parts, d);
}
std::vector<Tensor> Tensor::split(int64_t part, int64_t d) const {
  check_has_dims("split", *this);
  d = wrap_dim("split", d, dim());
  TANDEM_CHECK(part >= 0, "split expects split_size be non-negative, but got split_size=", part);
  TANDEM_CHECK(part > 0 || size(d) == 0,
               "split: split_size can only be 0 if dimension size is 0, but got dimension size of ", size(d),
               " in dimension ", d, " of ", sizes());
  return split_evenly("split", *this, std::max<int64_t>(std::min(part, size(d)), 1), d);
}
std::vector<Tensor> Tensor::chunk(int64_t chunks, int64_t d) const {
  check_has_dims("chunk", *this);
  d = wrap_dim("chunk", d, dim());
  TANDEM_CHECK(chunks > 0, "chunk expects `chunks` to be greater than 0, got: ", chunks);
  if (size(d) == 0)
    return split_with_sizes_impl("chunk", *this, std::vector<int64_t>(static_cast<size_t>(chunks), 0), d);
  return split_evenly("chunk", *this, size(d) / chunks + (size(d) % chunks != 0), d);
}
std::vector<Tensor> Tensor::unbind(int64_t d) const {
  TANDEM_CHECK_AS(IndexError, dim() > 0, "unbind: Dimension specified as ", d, " but tensor has no dimensions");
  d = wrap_dim("unbind", d, dim());
  std::vector<Tensor> out;
  for (int64_t i = 0; i < size(d); ++i) out.push_back(core::select(*this, d, i));
  return record_multi_output_view(
      "unbind", std::move(out), *this, [d](const BackwardContext&, const Grads& dy) -> Grads {
        const Tensor& like = *std::find_if(dy.begin(), dy.end(), [](auto& g) { return g.defined(); });
        Grads all = dy;
        for (Tensor& g : all)
          if (!g.defined()) g = zeros_like(like);
        return {stack(all, d)};
      });
}

static std::vector<Tensor> clone_all(std::vector<Tensor> parts) {
  for (Tensor& part : parts) part = part.clone();
  return parts;
}
std::vector<Tensor> Tensor::unsafe_chunk(int64_t chunks, int64_t dim) const { return clone_all(chunk(chunks, dim)); }
std::vector<Tensor> Tensor::unsafe_split(int64_t size, int64_t dim) const { return clone_all(split(size, dim)); }
std::vector<Tensor> Tensor::unsafe_split_with_sizes(IntArrayRef sizes, int64_t dim) const {
  return clone_all(split(sizes, dim));
}

std::vector<Tensor> Tensor::tensor_split(int64_t sections, int64_t d) const {
  TANDEM_CHECK(dim() > 0, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
  d = wrap_dim("tensor_split", d, dim());
  TANDEM_CHECK(sections > 0, "tensor_split: number of sections must be larger than 0, got ", sections);
  std::vector<Tensor> parts;
  int64_t at = 0;
  for (int64_t i = 0; i < sections; ++i) {
    const int64_t length = size(d) / sections + (i < size(d) % sections);
    parts.push_back(narrow(d, at, length));
    at += length;
  }
  return parts;
}
std::vector<Tensor> Tensor::tensor_split(IntArrayRef indices, int64_t d) const {
  TANDEM_CHECK(dim() > 0, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
  d = wrap_dim("tensor_split", d, dim());
  std::vector<Tensor> parts;
  int64_t at = 0;
  for (const int64_t index : indices) {
    parts.push_back(slice(d, at, index));
    at = index;
  }
  parts.push_back(slice(d, at));
  return parts;
}

namespace {
/// Returns the dimension along which hsplit, vsplit or dsplit splits. @throws Error that names op if x has fewer than
/// `least` dimensions
int64_t get_hvd_split_dim(const char* op, const Tensor& x, int64_t least) {
  TANDEM_CHECK(x.dim() >= least, op, " requires a tensor with at least ", least, " dimension, but got a tensor with ",
               x.dim(), " dimensions! x is ", x.sizes());
  return least == 2 ? 0 : least == 3 ? 2 : x.dim() == 1 ? 0 : 1;
}
std::vector<Tensor> hvd_split_equally(const char* op, const Tensor& x, int64_t sections, int64_t least) {
  const int64_t d = get_hvd_split_dim(op, x, least);
  TANDEM_CHECK(sections > 0 && x.size(d) % sections == 0, op, " attempted to split along dimension ", d,
               ", but the size of the dimension ", x.size(d), " is not divisible by the split_size ", sections,
               "! x is ", x.sizes());
  return x.tensor_split(sections, d);
}
}  // namespace
#define TANDEM_DEFINE_HVD_SPLIT(name, least)                              \
  std::vector<Tensor> Tensor::name(int64_t sections) const {              \
    return hvd_split_equally(#name, *this, sections, least);              \
  }                                                                       \
  std::vector<Tensor> Tensor::name(IntArrayRef indices) const {           \
    return tensor_split(indices, get_hvd_split_dim(#name, *this, least)); \
  }
TANDEM_DEFINE_HVD_SPLIT(hsplit, 1)
TANDEM_DEFINE_HVD_SPLIT(vsplit, 2)
TANDEM_DEFINE_HVD_SPLIT(dsplit, 3)
#undef TANDEM_DEFINE_HVD_SPLIT

std::vector<Tensor> Tensor::tensor_split(const Tensor& indices_or_sections, int64_t dim) const {
  const Tensor& given = indices_or_sections;
  TANDEM_CHECK(given.is_cpu(), "tensor_split expected tensor_indices_or_sections to be on cpu, but it's on ",
               given.device());
  TANDEM_CHECK(given.dtype() == kInt64,
               "tensor_split expected tensor_indices_or_sections to have dtype of long, but got ", given.dtype());
  TANDEM_CHECK(given.dim() <= 1,
               "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, "
               "but got a tensor with ",
               given.dim(), " dims");
  if (given.dim() == 0) return tensor_split(given.item<int64_t>(), dim);
  const Tensor indices = given.contiguous();
  return tensor_split(IntArrayRef(indices.data<int64_t>(), static_cast<size_t>(indices.numel())), dim);
}

}  // namespace tandem
