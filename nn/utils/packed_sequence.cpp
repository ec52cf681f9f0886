// Implements packing and padding of sequences of several lengths, and the inverse functions.
#include "tandem/nn/utils/packed_sequence.h"

#include "tandem/core/internal.h"
#include "tandem/ops/ops.h"

namespace tandem::nn::utils::rnn {
namespace {

Tensor to_index_tensor(const std::vector<int64_t>& numbers) {
  Tensor out = empty({static_cast<int64_t>(numbers.size())}, kInt64);
  std::copy(numbers.begin(), numbers.end(), out.data<int64_t>());
  return out;
}
std::vector<int64_t> to_int_vector(const Tensor& t) {
  const Tensor flat = t.to(kCPU, kInt64).contiguous();
  return {flat.data<int64_t>(), flat.data<int64_t>() + flat.numel()};
}
/// Reshapes (A, B, ...) to (A * B, ...).
Tensor flatten_batch(const Tensor& x) { return x.flatten(0, 1); }

}  // namespace

Tensor invert_permutation(const Tensor& permutation) {
  if (!permutation.defined()) return {};
  return empty_like(permutation).scatter(0, permutation, arange(permutation.numel(), permutation.options()));
}

PackedSequence::PackedSequence(Tensor data, Tensor batch_sizes, Tensor sorted_indices, Tensor unsorted_indices)
    : data_(std::move(data)), batch_sizes_(std::move(batch_sizes)), sorted_indices_(std::move(sorted_indices)) {
  TANDEM_CHECK(batch_sizes_.is_cpu() && batch_sizes_.dtype() == kInt64 && batch_sizes_.dim() == 1,
               "PackedSequence: batch_sizes should always be on CPU, int64 and one-dimensional, got ",
               batch_sizes_.sizes(), " of ", batch_sizes_.dtype(), " on ", batch_sizes_.device());
  unsorted_indices_ = unsorted_indices.defined() ? std::move(unsorted_indices) : invert_permutation(sorted_indices_);
}
PackedSequence PackedSequence::to(const TensorOptions& options) const {
  const Tensor data = data_.to(options);
  if (data.is_same(data_)) return *this;
  const auto move_index = [&](const Tensor& index) { return index.defined() ? index.to(data.device()) : index; };
  return PackedSequence(data, batch_sizes_, move_index(sorted_indices_), move_index(unsorted_indices_));
}
PackedSequence PackedSequence::pin_memory() const {
  const auto pinned = [](const Tensor& index) { return index.defined() ? index.pin_memory() : index; };
  return PackedSequence(data_.pin_memory(), batch_sizes_, pinned(sorted_indices_), pinned(unsorted_indices_));
}

PackedSequence pack_padded_sequence(const Tensor& given, const Tensor& lengths, bool batch_first, bool enforce_sorted) {
  TANDEM_CHECK(given.dim() >= 2, "pack_padded_sequence: input is ", given.sizes(),
               "; accepted: ", batch_first ? "(B, T, ...)" : "(T, B, ...)");
  Tensor input = batch_first ? given.transpose(0, 1) : given;
  const int64_t steps = input.size(0), batch = input.size(1);
  TANDEM_CHECK(lengths.dim() == 1 && lengths.size(0) == batch && !lengths.is_floating_point(),
               "pack_padded_sequence: Expected `len(lengths)` to be equal to batch_size, but got ", lengths.numel(),
               " (batch_size=", batch, "); lengths is ", lengths.sizes(), " of ", lengths.dtype(),
               ", accepted: one integer per sequence");
  Tensor sorted_lengths = lengths.to(kCPU, kInt64), sorted_indices;
  if (!enforce_sorted) {
    std::tie(sorted_lengths, sorted_indices) = sorted_lengths.sort(-1, /*descending=*/true);
    sorted_indices = sorted_indices.to(input.device());
    input = input.index_select(1, sorted_indices);
  }
  const std::vector<int64_t> length = to_int_vector(sorted_lengths);
  TANDEM_CHECK(batch > 0, "pack_padded_sequence: Cannot pack empty tensors. input is ", given.sizes());
  for (size_t i = 0; i < length.size(); ++i) {
    TANDEM_CHECK(length[i] > 0,
                 "pack_padded_sequence: Length of all samples has to be greater than 0, but found an element in "
                 "'lengths' that is <= 0: ",
                 length[i]);
    TANDEM_CHECK(length[i] <= steps, "pack_padded_sequence: length ", length[i], " exceeds the ", steps,
                 " steps of the input");
    TANDEM_CHECK(i == 0 || length[i] <= length[i - 1],
                 "pack_padded_sequence: `lengths` array must be sorted in decreasing order when `enforce_sorted` is "
                 "True; length ",
                 length[i], " follows ", length[i - 1],
                 ". You can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence");
  }
  std::vector<int64_t> batch_sizes, rows;
  for (int64_t t = 0, batch_size = batch; t < length[0]; ++t) {
    while (length[static_cast<size_t>(batch_size - 1)] <= t) --batch_size;
    batch_sizes.push_back(batch_size);
    for (int64_t i = 0; i < batch_size; ++i) rows.push_back(t * batch + i);
  }
  return PackedSequence(flatten_batch(input).index_select(0, to_index_tensor(rows).to(input.device())),
                        to_index_tensor(batch_sizes), sorted_indices);
}

std::tuple<Tensor, Tensor> pad_packed_sequence(const PackedSequence& sequence, bool batch_first, double padding_value,
                                               std::optional<int64_t> total_length) {
  const Tensor& data = sequence.data();
  const std::vector<int64_t> batch_sizes = to_int_vector(sequence.batch_sizes());
  const auto longest = static_cast<int64_t>(batch_sizes.size());
  TANDEM_CHECK(longest > 0, "pad_packed_sequence: the packed sequence is empty; it must hold at least one step");
  TANDEM_CHECK(total_length.value_or(longest) >= longest,
               "pad_packed_sequence: Expected total_length to be at least the length of the longest sequence in input, "
               "but got total_length=",
               total_length.value_or(0), " and max sequence length being ", longest);
  // Each position of the result selects a row of `data`, or the row after its last one, which will hold the padding.
  const int64_t steps = total_length.value_or(longest), batch = batch_sizes[0], padding = data.size(0);
  std::vector<int64_t> rows, lengths(static_cast<size_t>(batch), 0);
  for (int64_t t = 0, at = 0; t < steps; ++t) {
    const int64_t batch_size = t < longest ? batch_sizes[static_cast<size_t>(t)] : 0;
    for (int64_t i = 0; i < batch; ++i) rows.push_back(i < batch_size ? at++ : padding);
    for (int64_t i = 0; i < batch_size; ++i) ++lengths[static_cast<size_t>(i)];
  }
  Shape one = data.sizes();
  one[0] = 1;
  Tensor padded = cat({data, full(one, padding_value, data.options())})
                      .index_select(0, to_index_tensor(rows).to(data.device()))
                      .unflatten(0, {steps, batch});
  Tensor length = to_index_tensor(lengths);
  if (const Tensor& order = sequence.unsorted_indices(); order.defined())
    padded = padded.index_select(1, order), length = length.index_select(0, order.cpu());
  return {batch_first ? padded.transpose(0, 1) : padded, length};
}

Tensor pad_sequence(ArrayRef<Tensor> sequences, bool batch_first, double padding_value, std::string_view padding_side) {
  TANDEM_CHECK(!sequences.empty(), "pad_sequence: received an empty list of sequences");
  TANDEM_CHECK(padding_side == "right" || padding_side == "left",
               "pad_sequence: Expected padding_side to be one of left or right, but got ", padding_side, ".");
  const Tensor& first = sequences[0];
  int64_t steps = 0;
  for (const Tensor& s : sequences) {
    TANDEM_CHECK(s.dim() > 0 && s.dim() == first.dim() &&
                     s.sizes().slice(1, s.sizes().size() - 1) == first.sizes().slice(1, first.sizes().size() - 1),
                 "pad_sequence: sequences of ", s.sizes(), " and ", first.sizes(),
                 " are unlike; each must have a dimension, and only the size of dimension 0 may differ");
    steps = std::max(steps, s.size(0));
  }
  std::vector<Tensor> padded;
  for (const Tensor& s : sequences) {
    Shape missing = s.sizes();
    missing[0] = steps - s.size(0);
    const Tensor filler = full(missing, padding_value, first.options());
    const Tensor typed = s.to(first.dtype());
    padded.push_back(missing[0] == 0 ? typed : padding_side == "right" ? cat({typed, filler}) : cat({filler, typed}));
  }
  return stack(padded, batch_first ? 0 : 1);
}

PackedSequence pack_sequence(ArrayRef<Tensor> sequences, bool enforce_sorted) {
  std::vector<int64_t> lengths;
  for (const Tensor& s : sequences) {
    TANDEM_CHECK(s.dim() > 0, "pack_sequence: a sequence is a scalar; accepted: (L, ...)");
    lengths.push_back(s.size(0));
  }
  return pack_padded_sequence(pad_sequence(sequences), to_index_tensor(lengths), /*batch_first=*/false, enforce_sorted);
}

std::vector<Tensor> unpad_sequence(const Tensor& padded_sequences, const Tensor& lengths, bool batch_first) {
  TANDEM_CHECK(padded_sequences.dim() >= 2 && lengths.dim() == 1 &&
                   lengths.numel() == padded_sequences.size(batch_first ? 0 : 1),
               "unpad_sequence: padded_sequences is ", padded_sequences.sizes(), " and lengths ", lengths.sizes(),
               "; accepted: one length per sequence of ", batch_first ? "(B, T, ...)" : "(T, B, ...)");
  const Tensor batch = batch_first ? padded_sequences : padded_sequences.transpose(0, 1), counts = lengths.to(kCPU);
  std::vector<Tensor> out;
  for (int64_t i = 0; i < batch.size(0); ++i) {
    const auto length = counts[i].item<int64_t>();
    TANDEM_CHECK(length >= 0 && length <= batch.size(1), "unpad_sequence: lengths[", i, "] is ", length,
                 "; accepted: 0 to ", batch.size(1));
    out.push_back(batch[i].narrow(0, 0, length));
  }
  return out;
}
std::vector<Tensor> unpack_sequence(const PackedSequence& packed_sequences) {
  const auto [padded, lengths] = pad_packed_sequence(packed_sequences, /*batch_first=*/true);
  return unpad_sequence(padded, lengths, /*batch_first=*/true);
}

}  // namespace tandem::nn::utils::rnn
