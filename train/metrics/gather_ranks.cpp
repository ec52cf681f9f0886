// Implements gather_ranks(): the ranks first exchange dtypes and shapes, then the elements.
#include "tandem/train/metrics/gather_ranks.h"

#include <algorithm>

#include "tandem/core/internal.h"
#include "tandem/ops/ops.h"

namespace tandem::metrics {
namespace {

constexpr int64_t kMaxDims = 8;
constexpr int64_t kHeader = 2 + kMaxDims;  // dtype, or -1 for no tensor; number of dimensions; sizes

Tensor make_header(const Tensor& x, const std::string& about) {
  std::vector<int64_t> header(kHeader, 0);
  header[0] = x.defined() ? static_cast<int64_t>(x.dtype()) : -1;
  if (x.defined()) {
    TANDEM_CHECK(x.dim() <= kMaxDims, about, " has the shape ", x.sizes(), "; accepted: at most ", kMaxDims,
                 " dimensions");
    header[1] = x.dim();
    std::copy(x.sizes().begin(), x.sizes().end(), header.begin() + 2);
  }
  return tensor(header, kInt64);
}

}  // namespace

std::vector<Tensor> gather_ranks(const distributed::ProcessGroupPtr& group, const Tensor& x, const std::string& about) {
  const Device device = group->device();
  const auto size = static_cast<size_t>(group->size());
  const Tensor headers = empty({group->size() * kHeader}, TensorOptions().dtype(kInt64).device(device));
  group->all_gather_into_tensor(headers, make_header(x, about).to(device), about + ": shapes")->wait();
  const Tensor on_host = headers.to(kCPU);
  const int64_t* const data = on_host.data_ptr<int64_t>();

  int64_t dtype = -1;
  for (size_t rank = 0; rank < size; ++rank) {
    const int64_t here = data[rank * kHeader];
    if (here == -1) continue;
    TANDEM_CHECK(dtype == -1 || dtype == here, about, " is ", static_cast<DType>(here), " on rank ", rank, " and ",
                 static_cast<DType>(dtype), " on a rank before; accepted: one dtype on all ranks");
    dtype = here;
  }
  if (dtype == -1) return {};

  const TensorOptions options = TensorOptions().dtype(static_cast<DType>(dtype)).device(device);
  std::vector<Tensor> flat, shaped;
  for (size_t rank = 0; rank < size; ++rank) {
    const int64_t* const header = data + rank * kHeader;
    const std::vector<int64_t> sizes(header + 2, header + 2 + header[1]);
    if (header[0] == -1) {
      flat.push_back(empty({0}, options));
      continue;
    }
    shaped.push_back(empty(sizes, options));
    flat.push_back(shaped.back().view({-1}));
  }
  const Tensor own = x.defined() ? x.to(device).contiguous().view({-1}) : empty({0}, options);
  group->all_gather(flat, own, about)->wait();
  return shaped;
}

}  // namespace tandem::metrics
