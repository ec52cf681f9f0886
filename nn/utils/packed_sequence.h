// Batches of sequences of several lengths: padded, or packed without padding. Names follow
// torch::nn::utils::rnn.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::nn::utils::rnn {

/// Returns the inverse of `permutation`, a 1-d tensor of the indices 0 to n - 1; undefined if `permutation` is
/// undefined.
Tensor invert_permutation(const Tensor& permutation);

/// A batch of sequences without padding: the elements of all time steps, step by step. A step has one element of each
/// sequence that is long enough, longest sequence first. Made by pack_padded_sequence and pack_sequence; recurrent
/// modules accept it in forward_with_packed_input.
class PackedSequence {
 public:
  /// Constructs a sequence whose tensors are undefined, to be assigned later.
  PackedSequence() = default;
  /// batch_sizes: number of sequences that reach each step, int64 on the CPU. sorted_indices: for each packed sequence,
  /// its index in the user's batch; undefined if the packed order is the user's order. @throws Error unless batch_sizes
  /// is 1-d int64 on the CPU
  explicit PackedSequence(Tensor data, Tensor batch_sizes, Tensor sorted_indices = {}, Tensor unsorted_indices = {});
  /// Returns the elements, (sum of batch_sizes, ...).
  const Tensor& data() const { return data_; }
  /// Returns the number of sequences that reach each step, int64 on the CPU.
  const Tensor& batch_sizes() const { return batch_sizes_; }
  /// Returns, for each packed sequence, its index in the user's batch; undefined if the packed order is the user's
  /// order.
  const Tensor& sorted_indices() const { return sorted_indices_; }
  /// Returns the inverse of sorted_indices().
  const Tensor& unsorted_indices() const { return unsorted_indices_; }
  /// Converts data() to a device and dtype, and moves the indices to the same device; batch_sizes() stays on the CPU.
  PackedSequence to(const TensorOptions& options) const;
  /// Moves data() and the indices to the first GPU.
  PackedSequence cuda() const { return to(TensorOptions(data_.dtype()).device(kCUDA)); }
  /// Moves data() and the indices to the CPU.
  PackedSequence cpu() const { return to(TensorOptions(data_.dtype()).device(kCPU)); }
  /// Returns a copy in page-locked host memory.
  PackedSequence pin_memory() const;
  /// Whether data() is on a GPU.
  bool is_cuda() const { return data_.is_cuda(); }
  /// Whether data() is in page-locked memory.
  bool is_pinned() const { return data_.is_pinned(); }

 private:
  Tensor data_, batch_sizes_, sorted_indices_, unsorted_indices_;
};

/// Packs padded sequences: input (T, B, ...), or (B, T, ...) with batch_first, and integer lengths (B).
/// @throws Error unless lengths are from 1 to T and, if enforce_sorted is true, in descending order
PackedSequence pack_padded_sequence(const Tensor& input, const Tensor& lengths, bool batch_first = false,
                                    bool enforce_sorted = true);
/// Inverts pack_padded_sequence. Returns (sequences (T, B, ...), padded with padding_value, or (B, T, ...) with
/// batch_first; lengths (B), int64 on the CPU), in the user's order. T is the longest length, or total_length.
/// @throws Error if total_length is below the longest length
std::tuple<Tensor, Tensor> pad_packed_sequence(const PackedSequence& sequence, bool batch_first = false,
                                               double padding_value = 0,
                                               std::optional<int64_t> total_length = std::nullopt);
/// Pads sequences (L_i, ...) to one tensor (T, B, ...), or (B, T, ...) with batch_first, of the first sequence's dtype.
/// padding_side: "right" pads after the sequences, "left" before them. @throws Error if the list is empty, or unless
/// all sequences have the same sizes after the first dimension
Tensor pad_sequence(ArrayRef<Tensor> sequences, bool batch_first = false, double padding_value = 0,
                    std::string_view padding_side = "right");
/// Packs sequences (L_i, ...). @throws Error as pack_padded_sequence
PackedSequence pack_sequence(ArrayRef<Tensor> sequences, bool enforce_sorted = true);
/// Invert pad_sequence and pack_sequence, under Python's names: return the sequences (L_i, ...), in the user's order.
/// padded_sequences: (T, B, ...), or (B, T, ...) with batch_first. lengths: (B) integers.
/// @throws Error unless `lengths` has one length from 0 to T per sequence
std::vector<Tensor> unpad_sequence(const Tensor& padded_sequences, const Tensor& lengths, bool batch_first = false);
std::vector<Tensor> unpack_sequence(const PackedSequence& packed_sequences);

}  // namespace tandem::nn::utils::rnn

namespace tandem {
using nn::utils::rnn::pad_sequence;
}  // namespace tandem
