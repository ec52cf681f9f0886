// Implements all_reduce_in_shared_memory and broadcast_in_shared_memory: a tensor passes through slots in shared
// memory, chunk by chunk.
#include "tandem/parallel/collectives/gloo/shared_memory_collectives.h"

#include <algorithm>
#include <cstring>

namespace tandem::distributed {
namespace {

// size in bytes up to which every rank reduces all elements, because that is faster than exchanging results
constexpr int64_t kReduceAllBytes = 16 << 10;

/// Passes x through the ranks' slots in shared memory, chunk by chunk. In an all_reduce each rank writes its elements
/// into its slot, reduces its shard of the elements of all ranks, writes the result into its slot, and reads the shards
/// of the other ranks. With two ranks, or if x is small, every rank reduces all elements. In a broadcast one rank
/// writes its elements, and the others read them.
class SharedMemoryCollective {
 public:
  SharedMemoryCollective(GlooLink& link, const CallWithDeadline& op, Tensor& x)
      : link_(link),
        op_(op),
        memory_(*link.shared_memory()),
        x_(x),
        chunk_numel_(SharedMemory::kChunkBytes / x.itemsize()),
        num_chunks_((x.numel() + chunk_numel_ - 1) / chunk_numel_),
        first_chunk_(memory_.num_reserved_chunks),
        every_rank_reduces_(link.size() == 2 || x.nbytes() <= kReduceAllBytes) {
    memory_.num_reserved_chunks += static_cast<uint64_t>(num_chunks_);
  }
  int64_t num_chunks() const { return num_chunks_; }

  void write_chunk(int64_t k) {
    if (k >= num_chunks_) return;
    const uint64_t n = chunk_number(k);
    if (n > SharedMemory::kSlots) wait_for_other_ranks(SharedMemory::done, n - SharedMemory::kSlots);
    copy_elements(tensor_address(chunk(k)), slot_address(link_.rank(), k, chunk(k)), chunk(k));
    memory_.set_counter(SharedMemory::filled, n);
  }
  void reduce_shard(int64_t k) {
    if (k >= num_chunks_) return;
    wait_for_other_ranks(SharedMemory::filled, chunk_number(k));
    const ElementRange mine = shard(k, link_.rank());
    Tensor y = tensor_from_memory(tensor_address(mine), mine);
    std::vector<Tensor> parts;
    parts.reserve(static_cast<size_t>(link_.size()));
    for (int r = 0; r < link_.size(); ++r)
      parts.push_back(r == link_.rank() ? y : tensor_from_memory(slot_address(r, k, mine), mine));
    reduce_in_order(parts, op_.call.op, y);
    if (!every_rank_reduces_) copy_elements(tensor_address(mine), slot_address(link_.rank(), k, mine), mine);
    memory_.set_counter(every_rank_reduces_ ? SharedMemory::done : SharedMemory::reduced, chunk_number(k));
  }
  void read_shards(int64_t k) {
    if (k < 0 || every_rank_reduces_) return;
    wait_for_other_ranks(SharedMemory::reduced, chunk_number(k));
    for (int r = 0; r < link_.size(); ++r)
      if (r != link_.rank()) copy_elements(slot_address(r, k, shard(k, r)), tensor_address(shard(k, r)), shard(k, r));
    memory_.set_counter(SharedMemory::done, chunk_number(k));
  }
  /// Copies chunk k of the tensor from the slot of `root` in shared memory into x.
  void read_chunk_from(int root, int64_t k) {
    if (root != link_.rank()) {
      link_.wait(op_, root, SharedMemory::filled, chunk_number(k));
      copy_elements(slot_address(root, k, chunk(k)), tensor_address(chunk(k)), chunk(k));
    }
    memory_.set_counter(SharedMemory::done, chunk_number(k));
  }

 private:
  struct ElementRange {  // range of elements of x
    int64_t begin, numel;
  };
  uint64_t chunk_number(int64_t k) const { return first_chunk_ + static_cast<uint64_t>(k) + 1; }
  ElementRange chunk(int64_t k) const {
    return {k * chunk_numel_, std::min(chunk_numel_, x_.numel() - k * chunk_numel_)};
  }
  ElementRange shard(int64_t k, int r) const {
    const ElementRange all = chunk(k);
    if (every_rank_reduces_) return all;
    const int64_t begin = all.numel * r / link_.size(), end = all.numel * (r + 1) / link_.size();
    return {all.begin + begin, end - begin};
  }
  std::byte* tensor_address(ElementRange e) const {
    return static_cast<std::byte*>(x_.raw_data()) + e.begin * x_.itemsize();
  }
  std::byte* slot_address(int rank, int64_t k, ElementRange e) const {
    return static_cast<std::byte*>(memory_.slot(rank, chunk_number(k))) + (e.begin - k * chunk_numel_) * x_.itemsize();
  }
  void copy_elements(const std::byte* from, std::byte* to, ElementRange e) const {
    std::memcpy(to, from, static_cast<size_t>(e.numel * x_.itemsize()));
  }
  Tensor tensor_from_memory(std::byte* memory, ElementRange e) const {
    return from_blob(memory, {e.numel}, TensorOptions(x_.dtype()).device(x_.device()));
  }
  void wait_for_other_ranks(SharedMemory::ProgressCounter what, uint64_t count) {
    for (int r = 0; r < link_.size(); ++r)
      if (r != link_.rank()) link_.wait(op_, r, what, count);
  }

  GlooLink& link_;
  const CallWithDeadline& op_;
  SharedMemory& memory_;
  Tensor& x_;
  const int64_t chunk_numel_, num_chunks_;  // number of elements in a chunk, and number of chunks
  const uint64_t first_chunk_;  // number of this call's first chunk: the number of chunks in all earlier calls
  const bool every_rank_reduces_;
};

/// Ends the link's call at the end of the scope, even if an exception is thrown.
struct EndCallGuard {
  GlooLink& link;
  ~EndCallGuard() { link.end_call(); }
};

}  // namespace

void all_reduce_in_shared_memory(GlooLink& link, const CollectiveCall& call, Tensor& x) {
  const CallWithDeadline op = link.with_deadline(call);
  const EndCallGuard end_call_guard{link};
  link.begin_call(call);
  SharedMemoryCollective chunks(link, op, x);
  // fill the first slot before begin_collective(), so that ranks which have seen this call need not wait for the
  // elements
  chunks.write_chunk(0);
  link.begin_collective(op);
  for (int64_t k = 0; k <= chunks.num_chunks(); ++k) {
    chunks.write_chunk(k + 1);
    chunks.reduce_shard(k);
    chunks.read_shards(k - 1);
  }
}

void broadcast_in_shared_memory(GlooLink& link, const CollectiveCall& call, Tensor& x) {
  const CallWithDeadline op = link.with_deadline(call);
  const EndCallGuard end_call_guard{link};
  link.begin_call(call);
  SharedMemoryCollective chunks(link, op, x);
  const bool sends = call.root_or_peer == link.rank();
  if (sends) chunks.write_chunk(0);
  link.begin_collective(op);
  for (int64_t k = 0; k < chunks.num_chunks(); ++k) {
    if (sends) chunks.write_chunk(k + 1);
    chunks.read_chunk_from(call.root_or_peer, k);
  }
}

}  // namespace tandem::distributed
