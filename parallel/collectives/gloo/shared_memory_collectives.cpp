// Implements all_reduce_in_shared_memory and broadcast_in_shared_memory: a tensor passes through slots in shared
// memory, piece by piece.
#include "tandem/parallel/collectives/gloo/shared_memory_collectives.h"

#include <algorithm>
#include <cstring>

namespace tandem::distributed {
namespace {

// size in bytes up to which every rank reduces all elements, because that is faster than exchanging results
constexpr int64_t kReduceAllBytes = 16 << 10;

/// Passes x through the ranks' slots in shared memory, piece by piece. In an all_reduce each rank writes its elements
/// into its slot, reduces its share of the elements of all ranks, writes the result into its slot, and reads the shares
/// of the other ranks. With two ranks, or if x is small, every rank reduces all elements. In a broadcast one rank
/// writes its elements, and the others read them.
class SharedMemoryCollective {
 public:
  SharedMemoryCollective(GlooLink& link, const Operation& op, Tensor& x)
      : link_(link),
        op_(op),
        memory_(*link.shared_memory()),
        x_(x),
        piece_numel_(SharedMemory::kPieceBytes / x.itemsize()),
        num_pieces_((x.numel() + piece_numel_ - 1) / piece_numel_),
        first_piece_(memory_.pieces),
        every_rank_reduces_(link.size() == 2 || x.nbytes() <= kReduceAllBytes) {
    memory_.pieces += static_cast<uint64_t>(num_pieces_);
  }
  int64_t num_chunks() const { return num_pieces_; }

  void write_piece(int64_t k) {
    if (k >= num_pieces_) return;
    const uint64_t n = piece_number(k);
    if (n > SharedMemory::kSlots) wait_for_other_ranks(SharedMemory::done, n - SharedMemory::kSlots);
    copy_elements(tensor_address(piece(k)), slot_address(link_.rank(), k, piece(k)), piece(k));
    memory_.set_count(SharedMemory::filled, n);
  }
  void reduce_shard(int64_t k) {
    if (k >= num_pieces_) return;
    wait_for_other_ranks(SharedMemory::filled, piece_number(k));
    const Range mine = share(k, link_.rank());
    Tensor y = tensor_from_memory(tensor_address(mine), mine);
    std::vector<Tensor> parts;
    parts.reserve(static_cast<size_t>(link_.size()));
    for (int r = 0; r < link_.size(); ++r)
      parts.push_back(r == link_.rank() ? y : tensor_from_memory(slot_address(r, k, mine), mine));
    reduce_in_order(parts, op_.call.op, y);
    if (!every_rank_reduces_) copy_elements(tensor_address(mine), slot_address(link_.rank(), k, mine), mine);
    memory_.set_count(every_rank_reduces_ ? SharedMemory::done : SharedMemory::reduced, piece_number(k));
  }
  void read_shares(int64_t k) {
    if (k < 0 || every_rank_reduces_) return;
    wait_for_other_ranks(SharedMemory::reduced, piece_number(k));
    for (int r = 0; r < link_.size(); ++r)
      if (r != link_.rank()) copy_elements(slot_address(r, k, share(k, r)), tensor_address(share(k, r)), share(k, r));
    memory_.set_count(SharedMemory::done, piece_number(k));
  }
  /// Copies piece k of the tensor from the slot of `root` in shared memory into x.
  void read_piece_from(int root, int64_t k) {
    if (root != link_.rank()) {
      link_.wait(op_, root, SharedMemory::filled, piece_number(k));
      copy_elements(slot_address(root, k, piece(k)), tensor_address(piece(k)), piece(k));
    }
    memory_.set_count(SharedMemory::done, piece_number(k));
  }

 private:
  struct Range {  // range of elements of x
    int64_t begin, numel;
  };
  uint64_t piece_number(int64_t k) const { return first_piece_ + static_cast<uint64_t>(k) + 1; }
  Range piece(int64_t k) const { return {k * piece_numel_, std::min(piece_numel_, x_.numel() - k * piece_numel_)}; }
  Range share(int64_t k, int r) const {
    const Range all = piece(k);
    if (every_rank_reduces_) return all;
    const int64_t begin = all.numel * r / link_.size(), end = all.numel * (r + 1) / link_.size();
    return {all.begin + begin, end - begin};
  }
  std::byte* tensor_address(Range e) const { return static_cast<std::byte*>(x_.raw_data()) + e.begin * x_.itemsize(); }
  std::byte* slot_address(int rank, int64_t k, Range e) const {
    return static_cast<std::byte*>(memory_.slot(rank, piece_number(k))) + (e.begin - k * piece_numel_) * x_.itemsize();
  }
  void copy_elements(const std::byte* from, std::byte* to, Range e) const {
    std::memcpy(to, from, static_cast<size_t>(e.numel * x_.itemsize()));
  }
  Tensor tensor_from_memory(std::byte* memory, Range e) const {
    return from_blob(memory, {e.numel}, TensorOptions(x_.dtype()).device(x_.device()));
  }
  void wait_for_other_ranks(SharedMemory::Count what, uint64_t count) {
    for (int r = 0; r < link_.size(); ++r)
      if (r != link_.rank()) link_.wait(op_, r, what, count);
  }

  GlooLink& link_;
  const Operation& op_;
  SharedMemory& memory_;
  Tensor& x_;
  const int64_t piece_numel_, num_pieces_;  // number of elements in a piece, and number of pieces
  const uint64_t first_piece_;  // number of pieces in earlier calls, because pieces are numbered across calls
  const bool every_rank_reduces_;
};

/// Ends the link's call at the end of the scope, even if an exception is thrown.
struct EndCallGuard {
  GlooLink& link;
  ~EndCallGuard() { link.end_call(); }
};

}  // namespace

void all_reduce_in_shared_memory(GlooLink& link, const Call& call, Tensor& x) {
  const Operation op = link.with_deadline(call);
  const EndCallGuard end_call_guard{link};
  link.enter(call);
  SharedMemoryCollective pieces(link, op, x);
  // fill the first slot before begin_collective(), so that ranks which have seen this call need not wait for the
  // elements
  pieces.write_piece(0);
  link.begin_collective(op);
  for (int64_t k = 0; k <= pieces.num_chunks(); ++k) {
    pieces.write_piece(k + 1);
    pieces.reduce_shard(k);
    pieces.read_shares(k - 1);
  }
}

void broadcast_in_shared_memory(GlooLink& link, const Call& call, Tensor& x) {
  const Operation op = link.with_deadline(call);
  const EndCallGuard end_call_guard{link};
  link.enter(call);
  SharedMemoryCollective pieces(link, op, x);
  const bool sends = call.root_or_peer == link.rank();
  if (sends) pieces.write_piece(0);
  link.begin_collective(op);
  for (int64_t k = 0; k < pieces.num_chunks(); ++k) {
    if (sends) pieces.write_piece(k + 1);
    pieces.read_piece_from(call.root_or_peer, k);
  }
}

}  // namespace tandem::distributed
