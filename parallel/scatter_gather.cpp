// Splits batches by rows over devices, and joins outputs. Autograd records these operations.
#include "tandem/parallel/scatter_gather.h"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "tandem/autograd/record.h"
#include "tandem/core/trace/tracer.h"
#include "tandem/ops/shape/copy.h"
#include "tandem/parallel/broadcast.h"
#include "tandem/parallel/multi_device_node.h"

namespace tandem::nn::parallel {

namespace {
std::atomic<int64_t> total_bytes_moved{0};

/// Returns the sizes of `t` without dimension `dim`.
std::vector<int64_t> sizes_without_dim(const Tensor& t, int64_t dim) {
  std::vector<int64_t> sizes = t.sizes().vec();
  sizes.erase(sizes.begin() + dim);
  return sizes;
}
}  // namespace

int64_t bytes_moved() { return total_bytes_moved.load(std::memory_order_relaxed); }

std::vector<int64_t> detail::shard_sizes(int64_t rows, size_t devices) {
  TANDEM_CHECK(rows >= 0 && devices > 0, "shard_sizes: ", rows, " rows on ", devices,
               " devices; accepted: 0 rows or more on 1 device or more");
  const int64_t shards = std::max<int64_t>(1, std::min(rows, static_cast<int64_t>(devices)));
  std::vector<int64_t> sizes(static_cast<size_t>(shards), rows / shards);
  for (int64_t r = 0; r < rows % shards; ++r) ++sizes[static_cast<size_t>(r)];
  return sizes;
}

std::vector<int64_t> detail::shard_sizes(int64_t rows, const std::vector<int64_t>& chunk_sizes) {
  const auto count = static_cast<int64_t>(chunk_sizes.size());
  if (rows < count) return shard_sizes(rows, chunk_sizes.size());
  const int64_t total = std::accumulate(chunk_sizes.begin(), chunk_sizes.end(), int64_t{0});
  std::vector<int64_t> sizes;
  int64_t begin = 0, chunks = 0;
  for (int64_t r = 0; r < count; ++r) {
    chunks += chunk_sizes[static_cast<size_t>(r)];
    const int64_t share = (rows * chunks + total - 1) / total,
                  max_end = rows - (count - 1 - r);  // leaves at least one row for each later shard
    const int64_t end = std::max(begin + 1, std::min(share, max_end));
    sizes.push_back(end - begin);
    begin = end;
  }
  return sizes;
}

namespace {
/// Checks the arguments of scatter(). Returns `dim` counted from the front.
int64_t check_scatter_input(const Tensor& x, const std::vector<Device>& devices, int64_t dim) {
  TANDEM_CHECK(!devices.empty(), "scatter: Expected at least one device to scatter to");
  TANDEM_CHECK(x.dim() > 0, "scatter: chunk expects at least a 1-dimensional tensor, but x is a scalar");
  for (const Device device : devices) check_device_exists(device);
  return wrap_dim("scatter", dim, x.dim());
}
}  // namespace

std::vector<Tensor> scatter(const Tensor& x, const std::vector<Device>& devices, int64_t dim) {
  dim = check_scatter_input(x, devices, dim);
  return detail::scatter_by_sizes(x, detail::shard_sizes(x.size(dim), devices.size()), devices, dim);
}
std::vector<Tensor> scatter(const Tensor& x, const std::vector<Device>& devices,
                            const std::vector<int64_t>& chunk_sizes, int64_t dim) {
  dim = check_scatter_input(x, devices, dim);
  int64_t total = 0;
  for (const int64_t size : chunk_sizes) {
    TANDEM_CHECK(size > 0, "scatter: chunk_sizes are ", IntArrayRef(chunk_sizes), "; accepted: sizes of 1 or more");
    total += size;
  }
  TANDEM_CHECK(chunk_sizes.size() == devices.size(),
               "scatter: Expected devices and chunk_sizes to be of same length, but got len(devices) = ",
               devices.size(), " and len(chunk_sizes) = ", chunk_sizes.size());
  TANDEM_CHECK(total == x.size(dim), "scatter: chunk_sizes are ", IntArrayRef(chunk_sizes), " for a tensor of ",
               x.sizes(), "; they must add up to ", x.size(dim), ", the size of dimension ", dim);
  return detail::scatter_by_sizes(x, chunk_sizes, devices, dim);
}

Tensor gather(const std::vector<Tensor>& shards, Device device, int64_t dim) {
  TANDEM_CHECK(!shards.empty(), "gather: Expected at least one tensor to gather from");
  check_device_exists(device);
  if (shards[0].dim() == 0) {
    std::vector<Tensor> vectors;
    vectors.reserve(shards.size());
    for (const Tensor& shard : shards) vectors.push_back(shard.reshape({1}));
    return gather(vectors, device, 0);
  }
  dim = wrap_dim("gather", dim, shards[0].dim());
  std::vector<int64_t> sizes;
  std::vector<Device> devices;
  sizes.reserve(shards.size()), devices.reserve(shards.size());
  for (const Tensor& shard : shards) {
    TANDEM_CHECK(shard.dtype() == shards[0].dtype() && shard.dim() == shards[0].dim() &&
                     sizes_without_dim(shard, dim) == sizes_without_dim(shards[0], dim),
                 "gather: shard 0 is ", shards[0].dtype(), shards[0].sizes(), " and shard ", sizes.size(), " is ",
                 shard.dtype(), shard.sizes(), "; they may differ only in the size of dimension ", dim);
    sizes.push_back(shard.size(dim));
    devices.push_back(shard.device());
  }
  if (shards.size() == 1 && devices[0] == device) return shards[0];

  Shape whole = shards[0].sizes();
  whole[static_cast<size_t>(dim)] = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  const Shape strides = core::strides_of("gather", whole, shards[0].suggest_memory_format());
  const Tensor out = core::empty_dense(whole, strides, shards[0].dtype(), device);
  int64_t first = 0;
  for (const Tensor& shard : shards) {
    detail::transfer_tensor(shard, core::narrow(out, dim, first, shard.size(dim)));
    first += shard.size(dim);
  }
  detail::record_multi_device_node(
      "gather", {out}, shards, device,
      [sizes, devices, dim](const autograd::Node&, autograd::Grads& grads) {
        const PhaseSpan phase("scatter");
        return detail::scatter_by_sizes(grads[0], sizes, devices, dim);
      },
      devices);
  return out;
}

namespace detail {

void transfer_tensor(const Tensor& source, const Tensor& target) {
  if (source.device() == target.device()) return copy_elements(source, target, /*non_blocking=*/target.is_cuda());
  TraceEvent event{.kind = TraceEvent::Kind::transfer, .name = current_phase() ? current_phase() : "copy"};
  Tracer* const tracer = current_tracer();
  if (tracer) event.start = trace_clock_seconds();
  copy_elements(source, target, /*non_blocking=*/target.is_cuda());
  total_bytes_moved.fetch_add(target.nbytes(), std::memory_order_relaxed);
  if (!tracer) return;
  event.end = trace_clock_seconds();
  event.device = source.device(), event.to = target.device(), event.bytes = target.nbytes();
  tracer->add_event(std::move(event));
}

std::vector<Tensor> scatter_by_sizes(const Tensor& x, const std::vector<int64_t>& sizes,
                                     const std::vector<Device>& devices, int64_t dim) {
  std::vector<Tensor> shards;
  shards.reserve(sizes.size());
  int64_t first = 0;
  for (const int64_t size : sizes) {
    const Device device = devices[shards.size()];
    Tensor shard = core::narrow(x, dim, first, size);
    if (device != x.device()) {
      const Tensor there = core::empty_like(shard, x.dtype(), device);
      transfer_tensor(shard, there);
      shard = there;
    }
    shards.push_back(shard);
    first += size;
  }
  record_multi_device_node(
      "scatter", shards, {x}, x.device(),
      [device = x.device(), dim](const autograd::Node& node, autograd::Grads& grads) -> autograd::Grads {
        const PhaseSpan phase("gather");
        for (size_t r = 0; r < grads.size(); ++r)
          if (!grads[r].defined()) grads[r] = node.make_zero_grad(r);
        return {gather(grads, device, dim)};
      });
  // Make each shard on x's device a view of x for autograd: an in-place write to the shard then changes x and its
  // history.
  if (is_grad_enabled() && x.is_floating_point())
    for (const Tensor& shard : shards)
      if (shard.storage() == x.storage()) autograd::set_view_base(shard, x);
  return shards;
}

std::vector<std::vector<Tensor>> scatter_batch(const std::vector<Tensor>& tensors,
                                               const std::vector<std::optional<int64_t>>& dims,
                                               const std::vector<Device>& devices,
                                               const std::vector<int64_t>& chunk_sizes) {
  const PhaseSpan phase("scatter");
  std::optional<size_t> first;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    if (!t.defined() || t.dim() == 0 || !dims[i]) continue;
    if (!first) first = i;
    const Tensor& other = tensors[*first];
    const int64_t dim = *dims[i], other_dim = *dims[*first];
    TANDEM_CHECK(t.size(dim) == other.size(other_dim), "DataParallel: the inputs differ in size along dimension ",
                 other_dim, other_dim == dim ? "" : " and " + std::to_string(dim), ": ", other.sizes(), " and ",
                 t.sizes(),
                 "; all must have the same number of rows, or be copied whole to every replica (input_dims)");
  }
  TANDEM_CHECK(first,
               "DataParallel: none of the inputs is a tensor with rows to scatter over the devices; accepted: at least "
               "one tensor of one dimension or more, which input_dims does not exclude");
  const int64_t rows = tensors[*first].size(*dims[*first]);
  const std::vector<int64_t> sizes =
      chunk_sizes.empty() ? shard_sizes(rows, devices.size()) : shard_sizes(rows, chunk_sizes);
  const std::vector<Device> used_devices(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(sizes.size()));
  std::vector<std::vector<Tensor>> shards(sizes.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    std::vector<Tensor> parts(sizes.size());
    if (t.defined() && (t.dim() == 0 || !dims[i])) {
      const auto copies = broadcast_coalesced({t}, used_devices);
      for (size_t r = 0; r < sizes.size(); ++r) parts[r] = copies[r][0];
    } else if (t.defined()) {
      parts = scatter_by_sizes(t, sizes, used_devices, wrap_dim("DataParallel", *dims[i], t.dim()));
    }
    for (size_t r = 0; r < sizes.size(); ++r) shards[r].push_back(parts[r]);
  }
  return shards;
}

std::vector<Tensor> gather_batch(const std::vector<std::vector<Tensor>>& shards, Device device, int64_t dim) {
  const PhaseSpan phase("gather");
  std::vector<Tensor> out;
  out.reserve(shards[0].size());
  for (size_t i = 0; i < shards[0].size(); ++i) {
    std::vector<Tensor> parts;
    parts.reserve(shards.size());
    for (const std::vector<Tensor>& shard : shards) {
      TANDEM_CHECK(shard.size() == shards[0].size(), "DataParallel: replica 0 returned ", shards[0].size(),
                   " tensors and replica ", parts.size(), " returned ", shard.size(),
                   "; all must return the same number");
      parts.push_back(shard[i]);
    }
    const auto is_defined = [](const Tensor& t) { return t.defined(); };
    if (std::none_of(parts.begin(), parts.end(), is_defined)) {
      out.emplace_back();  // an output that the module leaves undefined
      continue;
    }
    TANDEM_CHECK(std::all_of(parts.begin(), parts.end(), is_defined), "DataParallel: output ", i,
                 " is defined on some devices only; accepted: on all or on none");
    out.push_back(gather(parts, device, dim));
  }
  return out;
}

}  // namespace detail
}  // namespace tandem::nn::parallel
