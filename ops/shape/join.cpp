// Dimensions moved and added, and what builds on that: splits by count, grids, and joins along a named dimension.
#include "tandem/autograd/record.h"
#include "tandem/ops/index/index.h"
#include "tandem/ops/shape/arrange.h"
#include "tandem/ops/shape/view.h"

namespace tandem {

Tensor Tensor::movedim(IntArrayRef source, IntArrayRef destination) const {
  TANDEM_CHECK(source.size() == destination.size(), "movedim: source is ", source, " and destination ", destination,
               "; both must be of one length");
  if (dim() == 0) {
    for (size_t i = 0; i < source.size(); ++i)
      wrap_dim("movedim", source[i], 0), wrap_dim("movedim", destination[i], 0);
    return view(IntArrayRef());
  }
  const auto rank = static_cast<size_t>(dim());
  Shape order(rank, -1);
  unsigned moved = 0;
  for (size_t i = 0; i < source.size(); ++i) {
    const int64_t from = wrap_dim("movedim", source[i], dim());
    int64_t& to = order[static_cast<size_t>(wrap_dim("movedim", destination[i], dim()))];
    TANDEM_CHECK(!(moved >> from & 1) && to < 0, "movedim: source is ", source, " and destination ", destination,
                 "; accepted: lists that name a dimension once");
    to = from, moved |= 1u << from;
  }
  int64_t next = 0;
  for (int64_t& place : order) {
    if (place >= 0) continue;
    while (moved >> next & 1) ++next;
    place = next++;
  }
  return permute(order);
}
Tensor Tensor::movedim(int64_t source, int64_t destination) const {
  return movedim(IntArrayRef(source), IntArrayRef(destination));
}
Tensor Tensor::numpy_T() const {
  Shape order;
  for (int64_t d = dim(); d-- > 0;) order.push_back(d);
  return permute(order);
}
Tensor Tensor::narrow_copy(int64_t d, int64_t start, int64_t length) const {
  return narrow(d, start, length).clone(MemoryFormat::Contiguous);
}

std::vector<Tensor> Tensor::tensor_split(int64_t sections, int64_t d) const {
  TANDEM_CHECK(dim() > 0, "tensor_split: a scalar has no dimension to cut; accepted: one or more dimensions");
  d = wrap_dim("tensor_split", d, dim());
  TANDEM_CHECK(sections > 0, "tensor_split: sections is ", sections, "; it must be positive");
  std::vector<Tensor> parts;
  int64_t at = 0;
  for (int64_t i = 0; i < sections; ++i) {
    const int64_t length = size(d) / sections + (i < size(d) % sections);
    parts.push_back(narrow(d, at, length)), at += length;
  }
  return parts;
}
std::vector<Tensor> Tensor::tensor_split(IntArrayRef indices, int64_t d) const {
  TANDEM_CHECK(dim() > 0, "tensor_split: a scalar has no dimension to cut; accepted: one or more dimensions");
  d = wrap_dim("tensor_split", d, dim());
  std::vector<Tensor> parts;
  int64_t at = 0;
  for (const int64_t index : indices) parts.push_back(slice(d, at, index)), at = index;
  parts.push_back(slice(d, at));
  return parts;
}

namespace {
/// The dimension that hsplit, vsplit and dsplit cut.
int64_t cut_dim(const char* op, const Tensor& x, int64_t least) {
  TANDEM_CHECK(x.dim() >= least, op, ": x is ", x.sizes(), "; accepted: ", least, " dimensions or more");
  return least == 2 ? 0 : least == 3 ? 2 : x.dim() == 1 ? 0 : 1;
}
std::vector<Tensor> cut_equally(const char* op, const Tensor& x, int64_t sections, int64_t least) {
  const int64_t d = cut_dim(op, x, least);
  TANDEM_CHECK(sections > 0 && x.size(d) % sections == 0, op, ": dimension ", d, " of ", x.sizes(),
               " is not divided by ", sections, " sections; accepted: a number that divides ", x.size(d));
  return x.tensor_split(sections, d);
}
}  // namespace
#define TANDEM_NAMED_SPLIT(name, least)                                                                           \
  std::vector<Tensor> Tensor::name(int64_t sections) const { return cut_equally(#name, *this, sections, least); } \
  std::vector<Tensor> Tensor::name(IntArrayRef indices) const {                                                   \
    return tensor_split(indices, cut_dim(#name, *this, least));                                                   \
  }
TANDEM_NAMED_SPLIT(hsplit, 1)
TANDEM_NAMED_SPLIT(vsplit, 2)
TANDEM_NAMED_SPLIT(dsplit, 3)

Tensor atleast_1d(const Tensor& x) { return x.dim() == 0 ? x.reshape({1}) : x; }
Tensor atleast_2d(const Tensor& x) { return x.dim() == 0 ? x.reshape({1, 1}) : x.dim() == 1 ? x.unsqueeze(0) : x; }
Tensor atleast_3d(const Tensor& x) {
  return x.dim() == 0   ? x.reshape({1, 1, 1})
         : x.dim() == 1 ? x.unsqueeze(0).unsqueeze(-1)
         : x.dim() == 2 ? x.unsqueeze(-1)
                        : x;
}
#define TANDEM_AT_LEAST(name)                               \
  std::vector<Tensor> name(TensorList tensors) {            \
    std::vector<Tensor> out;                                \
    for (const Tensor& x : tensors) out.push_back(name(x)); \
    return out;                                             \
  }
TANDEM_AT_LEAST(atleast_1d)
TANDEM_AT_LEAST(atleast_2d)
TANDEM_AT_LEAST(atleast_3d)

std::vector<Tensor> broadcast_tensors(TensorList tensors) {
  Shape sizes;
  for (const Tensor& x : tensors) sizes = broadcast_shapes("broadcast_tensors", sizes, x.sizes());
  std::vector<Tensor> out;
  for (const Tensor& x : tensors) out.push_back(x.expand(sizes));
  return out;
}
std::vector<Tensor> meshgrid(TensorList tensors, const std::string& indexing) {
  TANDEM_CHECK(!tensors.empty(), "meshgrid: the list is empty; accepted: one tensor or more");
  TANDEM_CHECK(indexing == "ij" || indexing == "xy", "meshgrid: indexing is \"", indexing,
               "\"; accepted: \"ij\" and \"xy\"");
  const bool exchanged = indexing == "xy" && tensors.size() >= 2;
  const auto place = [&](size_t i) { return exchanged && i < 2 ? 1 - i : i; };
  Shape sizes(tensors.size(), 1);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor &x = tensors[i], &first = tensors[0];
    TANDEM_CHECK(x.dim() <= 1, "meshgrid: tensor ", i, " is ", x.sizes(), "; accepted: scalars and vectors");
    TANDEM_CHECK(x.dtype() == first.dtype() && x.device() == first.device(), "meshgrid: ", x.dtype(), " on ",
                 x.device(), " beside ", first.dtype(), " on ", first.device(),
                 "; all must be of one dtype and device");
    sizes[place(i)] = x.numel();
  }
  std::vector<Tensor> out;
  for (size_t i = 0; i < tensors.size(); ++i) {
    Shape own(tensors.size(), 1);
    own[place(i)] = tensors[i].numel();
    out.push_back(tensors[i].view(own).expand(sizes));
  }
  return out;
}

Tensor hstack(TensorList tensors) {
  TANDEM_CHECK(!tensors.empty(), "hstack: the list is empty; accepted: one tensor or more");
  const std::vector<Tensor> rows = atleast_1d(tensors);
  return cat(rows, rows[0].dim() == 1 ? 0 : 1);
}
Tensor vstack(TensorList tensors) {
  TANDEM_CHECK(!tensors.empty(), "vstack: the list is empty; accepted: one tensor or more");
  return cat(atleast_2d(tensors), 0);
}
Tensor dstack(TensorList tensors) {
  TANDEM_CHECK(!tensors.empty(), "dstack: the list is empty; accepted: one tensor or more");
  return cat(atleast_3d(tensors), 2);
}
Tensor column_stack(TensorList tensors) {
  TANDEM_CHECK(!tensors.empty(), "column_stack: the list is empty; accepted: one tensor or more");
  std::vector<Tensor> columns;
  for (const Tensor& x : tensors) columns.push_back(x.dim() <= 1 ? x.reshape({x.numel(), 1}) : x);
  return cat(columns, 1);
}

std::vector<Tensor> Tensor::tensor_split(const Tensor& indices_or_sections, int64_t dim) const {
  TANDEM_CHECK(indices_or_sections.is_cpu() && indices_or_sections.dtype() == kInt64 && indices_or_sections.dim() <= 1,
               "tensor_split: the parts are ", indices_or_sections.dtype(), indices_or_sections.sizes(), " on ",
               indices_or_sections.device(), "; accepted: int64 of one dimension or none, on the CPU");
  if (indices_or_sections.dim() == 0) return tensor_split(indices_or_sections.item<int64_t>(), dim);
  const Tensor indices = indices_or_sections.contiguous();
  return tensor_split(IntArrayRef(indices.data<int64_t>(), static_cast<size_t>(indices.numel())), dim);
}

}  // namespace tandem
