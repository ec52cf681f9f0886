// Implements all_reduce_in_memory and broadcast_in_memory: a tensor passes through slots in shared memory, piece by
// piece.
#include "tandem/parallel/collectives/gloo/in_memory.h"

#include <algorithm>
#include <cstring>

namespace tandem::distributed {
namespace {

// size in bytes up to which every rank reduces all elements, because that is faster than exchanging results
constexpr int64_t kSmall = 16 << 10;

/// Passes x through the ranks' slots in shared memory, piece by piece. In an all_reduce each rank writes its elements
/// into its slot, reduces its share of the elements of all ranks, writes the result into its slot, and reads the shares
/// of the other ranks. With two ranks, or if x is small, every rank reduces all elements. In a broadcast one rank
/// writes its elements, and the others read them.
class Pieces {
 public:
  Pieces(GlooLink& link, const Operation& op, Tensor& x)
      : link_(link),
        op_(op),
        memory_(*link.shared_memory()),
        x_(x),
        most_(SharedMemory::kPieceBytes / x.itemsize()),
        count_((x.numel() + most_ - 1) / most_),
        before_(memory_.pieces),
        by_all_(link.size() == 2 || x.nbytes() <= kSmall) {
    memory_.pieces += static_cast<uint64_t>(count_);
  }
  int64_t count() const { return count_; }

  void fill(int64_t k) {
    if (k >= count_) return;
    const uint64_t n = number(k);
    if (n > SharedMemory::kSlots) wait(SharedMemory::done, n - SharedMemory::kSlots);
    copy(here(piece(k)), there(link_.rank(), k, piece(k)), piece(k));
    memory_.raise(SharedMemory::filled, n);
  }
  void reduce(int64_t k) {
    if (k >= count_) return;
    wait(SharedMemory::filled, number(k));
    const Range mine = share(k, link_.rank());
    Tensor y = tensor_of(here(mine), mine);
    std::vector<Tensor> parts;
    parts.reserve(static_cast<size_t>(link_.size()));
    for (int r = 0; r < link_.size(); ++r) parts.push_back(r == link_.rank() ? y : tensor_of(there(r, k, mine), mine));
    reduce_in_order(parts, op_.call.op, y);
    if (!by_all_) copy(here(mine), there(link_.rank(), k, mine), mine);
    memory_.raise(by_all_ ? SharedMemory::done : SharedMemory::reduced, number(k));
  }
  void take(int64_t k) {
    if (k < 0 || by_all_) return;
    wait(SharedMemory::reduced, number(k));
    for (int r = 0; r < link_.size(); ++r)
      if (r != link_.rank()) copy(there(r, k, share(k, r)), here(share(k, r)), share(k, r));
    memory_.raise(SharedMemory::done, number(k));
  }
  /// Reads piece k from the slot of `root`.
  void take_from(int root, int64_t k) {
    if (root != link_.rank()) {
      link_.wait(op_, root, SharedMemory::filled, number(k));
      copy(there(root, k, piece(k)), here(piece(k)), piece(k));
    }
    memory_.raise(SharedMemory::done, number(k));
  }

 private:
  struct Range {  // range of elements of x
    int64_t begin, numel;
  };
  uint64_t number(int64_t k) const { return before_ + static_cast<uint64_t>(k) + 1; }
  Range piece(int64_t k) const { return {k * most_, std::min(most_, x_.numel() - k * most_)}; }
  Range share(int64_t k, int r) const {
    const Range all = piece(k);
    if (by_all_) return all;
    const int64_t begin = all.numel * r / link_.size(), end = all.numel * (r + 1) / link_.size();
    return {all.begin + begin, end - begin};
  }
  std::byte* here(Range e) const { return static_cast<std::byte*>(x_.raw_data()) + e.begin * x_.itemsize(); }
  std::byte* there(int rank, int64_t k, Range e) const {
    return static_cast<std::byte*>(memory_.slot(rank, number(k))) + (e.begin - k * most_) * x_.itemsize();
  }
  void copy(const std::byte* from, std::byte* to, Range e) const {
    std::memcpy(to, from, static_cast<size_t>(e.numel * x_.itemsize()));
  }
  Tensor tensor_of(std::byte* memory, Range e) const {
    return from_blob(memory, {e.numel}, TensorOptions(x_.dtype()).device(x_.device()));
  }
  void wait(SharedMemory::Count what, uint64_t count) {
    for (int r = 0; r < link_.size(); ++r)
      if (r != link_.rank()) link_.wait(op_, r, what, count);
  }

  GlooLink& link_;
  const Operation& op_;
  SharedMemory& memory_;
  Tensor& x_;
  const int64_t most_, count_;  // number of elements in a piece, and number of pieces
  const uint64_t before_;       // number of pieces in earlier calls, because pieces are numbered across calls
  const bool by_all_;
};

/// Ends the link's call at the end of the scope, even if an exception is thrown.
struct Leaving {
  GlooLink& link;
  ~Leaving() { link.end(); }
};

}  // namespace

void all_reduce_in_memory(GlooLink& link, const Call& call, Tensor& x) {
  const Operation op = link.operation(call);
  const Leaving leaving{link};
  link.enter(call);
  Pieces pieces(link, op, x);
  // fill the first slot before begin(), so that ranks which have seen this call need not wait for the elements
  pieces.fill(0);
  link.begin(op);
  for (int64_t k = 0; k <= pieces.count(); ++k) {
    pieces.fill(k + 1);
    pieces.reduce(k);
    pieces.take(k - 1);
  }
}

void broadcast_in_memory(GlooLink& link, const Call& call, Tensor& x) {
  const Operation op = link.operation(call);
  const Leaving leaving{link};
  link.enter(call);
  Pieces pieces(link, op, x);
  const bool sends = call.other == link.rank();
  if (sends) pieces.fill(0);
  link.begin(op);
  for (int64_t k = 0; k < pieces.count(); ++k) {
    if (sends) pieces.fill(k + 1);
    pieces.take_from(call.other, k);
  }
}

}  // namespace tandem::distributed
