// Sequences of several lengths in one tensor: padded, or packed without the padding. torch::nn::utils::rnn's names.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::nn::utils::rnn {

/// The permutation that undoes `permutation`, a 1-d index of 0 to n - 1; undefined for an undefined one.
Tensor invert_permutation(const Tensor& permutation);

/// Time steps one after the other, each with the elements of the sequences that are that long, longest sequence first.
/// pack_padded_sequence and pack_sequence make one; recurrent modules take it (forward_with_packed_input).
class PackedSequence {
 public:
  /// batch_sizes: how many sequences reach each step, int64 on the CPU. sorted_indices: which sequence of the user's
  /// batch stands at each place; undefined when that is their own order. @throws Error unless batch_sizes is such
  explicit PackedSequence(Tensor data, Tensor batch_sizes, Tensor sorted_indices = {}, Tensor unsorted_indices = {});
  /// (sum of batch_sizes, ...)
  const Tensor& data() const { return data_; }
  /// How many sequences reach each step: int64, on the CPU.
  const Tensor& batch_sizes() const { return batch_sizes_; }
  /// Which sequence of the user's batch stands at each place; undefined when that is their own order.
  const Tensor& sorted_indices() const { return sorted_indices_; }
  /// The inverse of sorted_indices().
  const Tensor& unsorted_indices() const { return unsorted_indices_; }
  /// With its data, and the indices, elsewhere or (the data alone) of another dtype; batch_sizes stay on the CPU.
  PackedSequence to(const TensorOptions& options) const;
  /// to() the first GPU.
  PackedSequence cuda() const { return to(TensorOptions(data_.dtype()).device(kCUDA)); }
  /// to() the CPU.
  PackedSequence cpu() const { return to(TensorOptions(data_.dtype()).device(kCPU)); }
  /// A copy in page-locked memory of the host.
  PackedSequence pin_memory() const;
  /// Whether data() is on a GPU.
  bool is_cuda() const { return data_.is_cuda(); }
  /// Whether data() is in page-locked memory.
  bool is_pinned() const { return data_.is_pinned(); }

 private:
  Tensor data_, batch_sizes_, sorted_indices_, unsorted_indices_;
};

/// Packs sequences that are padded to one length: input is (T, B, ...), or (B, T, ...) with batch_first, lengths (B)
/// integers. @throws Error unless lengths are 1 to T and, with enforce_sorted, do not grow
PackedSequence pack_padded_sequence(const Tensor& input, const Tensor& lengths, bool batch_first = false,
                                    bool enforce_sorted = true);
/// The opposite: (sequences (T, B, ...) padded with one value, or (B, T, ...); lengths (B) int64 on the CPU), in the
/// user's order. T is the longest length, or total_length. @throws Error when total_length is shorter than that
std::tuple<Tensor, Tensor> pad_packed_sequence(const PackedSequence& sequence, bool batch_first = false,
                                               double padding_value = 0,
                                               std::optional<int64_t> total_length = std::nullopt);
/// Sequences (L_i, ...) as one tensor (T, B, ...), or (B, T, ...), padded behind ("right") or before them ("left"), of
/// the first one's dtype. @throws Error for an empty list, and unless all but the first sizes agree
Tensor pad_sequence(ArrayRef<Tensor> sequences, bool batch_first = false, double padding_value = 0,
                    std::string_view padding_side = "right");
/// Packs sequences (L_i, ...). @throws Error as pack_padded_sequence
PackedSequence pack_sequence(ArrayRef<Tensor> sequences, bool enforce_sorted = true);
/// The opposites of pad_sequence and pack_sequence, Python's names: the sequences (L_i, ...), in the user's order.
/// padded_sequences is (T, B, ...), or (B, T, ...) with batch_first, lengths (B) integers.
/// @throws Error unless there is a length of 0 to T for each
std::vector<Tensor> unpad_sequence(const Tensor& padded_sequences, const Tensor& lengths, bool batch_first = false);
std::vector<Tensor> unpack_sequence(const PackedSequence& packed_sequences);

}  // namespace tandem::nn::utils::rnn

namespace tandem {
using nn::utils::rnn::pad_sequence;
}  // namespace tandem
