// Tests RNN, LSTM, GRU, their cells and packed sequences against PyTorch (fixtures/modules.json), and their errors.
#include "tandem/nn/rnn.h"

#include "tandem/tests/nn/module_rows.h"

namespace tandem {
namespace rnn = nn::utils::rnn;
using test::check_module;
using test::Tensors;

/// Calls the module on (x, h) or (x, h, c), or on x only if no states are given. Returns all results as a list.
template <class M> static Tensors states_of(const nn::ModuleHolder<M>& m, const Tensors& in) {
  constexpr bool pairs = requires { std::tuple_size<std::decay_t<decltype(std::get<1>(m->forward(in[0])))>>(); };
  if constexpr (std::is_same_v<decltype(m->forward(in[0])), Tensor>) {
    return {in.size() > 1 ? m(in[0], in[1]) : m(in[0])};
  } else if constexpr (pairs) {
    const auto [y, s] = in.size() > 1 ? m->forward(in[0], std::make_tuple(in[1], in[2])) : m->forward(in[0]);
    return {y, std::get<0>(s), std::get<1>(s)};
  } else if constexpr (std::is_same_v<M, nn::LSTMCellImpl>) {
    const auto [h, c] = in.size() > 1 ? m->forward(in[0], std::make_tuple(in[1], in[2])) : m->forward(in[0]);
    return {h, c};
  } else {
    const auto [y, h] = in.size() > 1 ? m->forward(in[0], in[1]) : m->forward(in[0]);
    return {y, h};
  }
}
template <class Holder> static void check_states(const std::string& name, const Holder& m) {
  check_module(name, *m, [&](const Tensors& in) { return states_of(m, in); });
}
static Tensor int_tensor(const std::vector<int64_t>& numbers) {
  Tensor t = empty({static_cast<int64_t>(numbers.size())}, kInt64);
  std::copy(numbers.begin(), numbers.end(), t.data_ptr<int64_t>());
  return t;
}

TEST_CASE("recurrent modules give PyTorch's outputs, states and gradients", "[nn][recurrent]") {
  check_states("rnn", nn::RNN(3, 4));
  check_states(
      "rnn/relu",
      nn::RNN(
          nn::RNNOptions(3, 4).num_layers(2).nonlinearity(kReLU).bias(false).batch_first(true).bidirectional(true)));
  check_states("rnn/unbatched", nn::RNN(nn::RNNOptions(3, 4).batch_first(true)));
  check_states("lstm", nn::LSTM(nn::LSTMOptions(3, 4).num_layers(2)));
  check_states("lstm/proj",
               nn::LSTM(nn::LSTMOptions(3, 4).num_layers(2).batch_first(true).bidirectional(true).proj_size(2)));
  check_states("lstm/proj/zeros", nn::LSTM(nn::LSTMOptions(3, 4).bias(false).proj_size(3)));
  check_states("lstm/unbatched", nn::LSTM(3, 4));
  check_states("gru", nn::GRU(nn::GRUOptions(3, 4).num_layers(2).bidirectional(true)));
  check_states("gru/unbatched", nn::GRU(nn::GRUOptions(3, 4).bias(false)));
}

TEST_CASE("recurrent cells give PyTorch's states and gradients", "[nn][recurrent]") {
  check_states("rnn_cell", nn::RNNCell(3, 4));
  check_states("rnn_cell/relu", nn::RNNCell(nn::RNNCellOptions(3, 4).nonlinearity(kReLU).bias(false)));
  check_states("lstm_cell", nn::LSTMCell(3, 4));
  check_states("lstm_cell/unbatched", nn::LSTMCell(nn::LSTMCellOptions(3, 4).bias(false)));
  check_states("gru_cell", nn::GRUCell(3, 4));
}

TEST_CASE("packed sequences of several lengths give PyTorch's outputs, states and gradients", "[nn][recurrent]") {
  const nn::LSTM lstm(nn::LSTMOptions(3, 4).num_layers(2).bidirectional(true));
  check_module("lstm/packed", *lstm, [&](const Tensors& in) -> Tensors {
    const auto packed = rnn::pack_padded_sequence(in[0], int_tensor({2, 5, 3, 3}), false, /*enforce_sorted=*/false);
    const auto [y, states] = lstm->forward_with_packed_input(packed, std::make_tuple(in[1], in[2]));
    const auto [padded, lengths] = rnn::pad_packed_sequence(y, false, -1.5);
    return {padded, lengths, std::get<0>(states), std::get<1>(states)};
  });
  const nn::GRU gru(nn::GRUOptions(3, 4).batch_first(true));
  check_module("gru/packed", *gru, [&](const Tensors& in) -> Tensors {
    const auto [y, h] =
        gru->forward_with_packed_input(rnn::pack_padded_sequence(in[0], int_tensor({4, 4, 1}), /*batch_first=*/true));
    const auto [padded, lengths] = rnn::pad_packed_sequence(y, true, 0, 6);
    return {padded, lengths, h};
  });
  const nn::RNN network(nn::RNNOptions(3, 4).bidirectional(true));
  check_module("rnn/packed", *network, [&](const Tensors& in) -> Tensors {
    const auto [y, h] =
        network->forward_with_packed_input(rnn::pack_padded_sequence(in[0], int_tensor({4, 2, 1})), in[1]);
    const auto [padded, lengths] = rnn::pad_packed_sequence(y);
    return {padded, lengths, h};
  });
}

TEST_CASE("sequences are padded and packed", "[nn][recurrent]") {
  const Tensor a = tensor({1.0, 2.0}), b = tensor({3.0}), c = tensor({4.0, 5.0, 6.0});
  const Tensor right = tensor({{1.0, 2.0, -1.0}, {3.0, -1.0, -1.0}, {4.0, 5.0, 6.0}});
  CHECK(rnn::pad_sequence({a, b, c}, true, -1).equal(right));
  CHECK(rnn::pad_sequence({a, b, c}, false, -1).equal(right.t()));
  CHECK(
      rnn::pad_sequence({a, b, c}, true, 0, "left").equal(tensor({{0.0, 1.0, 2.0}, {0.0, 0.0, 3.0}, {4.0, 5.0, 6.0}})));
  const rnn::PackedSequence packed = rnn::pack_sequence({a, b, c}, /*enforce_sorted=*/false);
  CHECK(packed.data().equal(tensor({4.0, 1.0, 3.0, 5.0, 2.0, 6.0})));
  CHECK(packed.batch_sizes().equal(int_tensor({3, 2, 1})));
  CHECK(packed.sorted_indices().equal(int_tensor({2, 0, 1})));
  CHECK(packed.unsorted_indices().equal(int_tensor({1, 2, 0})));
  CHECK(packed.to(kFloat64).data().dtype() == kFloat64);
  CHECK(packed.to(kFloat64).unsorted_indices().dtype() == kInt64);
  CHECK(packed.cpu().data().is_same(packed.data()));
  const auto [padded, lengths] = rnn::pad_packed_sequence(packed, true, -1);
  CHECK(padded.equal(right));
  CHECK(lengths.equal(int_tensor({2, 1, 3})));

  const Tensor x = zeros({4, 2, 3});
  CHECK_THROWS_WITH(rnn::pack_padded_sequence(x, int_tensor({2, 4})),
                    Contains("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True"));
  CHECK_THROWS_WITH(rnn::pack_padded_sequence(x, int_tensor({4, 0})),
                    Contains("Length of all samples has to be greater than 0"));
  CHECK_THROWS_WITH(rnn::pack_padded_sequence(x, int_tensor({5, 4})),
                    Contains("length 5 exceeds the 4 steps of the input"));
  CHECK_THROWS_WITH(rnn::pack_padded_sequence(x, int_tensor({4})),
                    Contains("Expected `len(lengths)` to be equal to batch_size, but got 1 (batch_size=2)"));
  CHECK_THROWS_WITH(rnn::pad_packed_sequence(packed, false, 0, 2),
                    Contains("but got total_length=2 and max sequence length being 3"));
  CHECK_THROWS_WITH(rnn::pad_sequence({}), Contains("received an empty list of sequences"));
  CHECK_THROWS_WITH(rnn::pad_sequence({zeros({2, 2}), zeros({3, 3})}),
                    Contains("sequences of (3, 3) and (2, 2) are unlike"));
  CHECK_THROWS_WITH(rnn::pad_sequence({a}, false, 0, "up"),
                    Contains("Expected padding_side to be one of left or right, but got up."));
}

TEST_CASE("dropout lies between recurrent layers, in training", "[nn][recurrent]") {
  manual_seed(3);
  const Tensor x = randn({4, 2, 3});
  const auto forward = [&](const nn::GRU& m) { return std::get<0>(m->forward(x)); };
  const nn::GRU one(nn::GRUOptions(3, 4).dropout(0.5)), two(nn::GRUOptions(3, 4).num_layers(2).dropout(0.5));
  CHECK(forward(one).equal(forward(one)));  // no dropout after the last layer
  CHECK_FALSE(forward(two).equal(forward(two)));
  const nn::GRU nothing(nn::GRUOptions(3, 4).num_layers(2).dropout(1));
  const Tensor alone = forward(nothing);  // the input of the second layer is all zeros
  CHECK(alone.select(1, 0).equal(alone.select(1, 1)));
  two->eval();
  CHECK(forward(two).equal(forward(two)));
}

TEST_CASE("recurrent modules: weights, copies, second derivatives", "[nn][recurrent]") {
  manual_seed(4);
  const nn::LSTM m(nn::LSTMOptions(2, 16).num_layers(2).bidirectional(true));
  REQUIRE(m->all_weights().size() == 16);
  m->flatten_parameters();
  CHECK(m->all_weights()[4].is_same(m->named_parameters()["weight_ih_l0_reverse"]));
  for (const Tensor& weight : m->all_weights()) {
    CHECK(weight.abs().max().item<double>() <= 0.25);  // bound: 1 / sqrt(16)
    CHECK(weight.abs().max().item<double>() > 0.2);
  }
  const Tensor x = randn({3, 2});
  const auto copy = std::dynamic_pointer_cast<nn::LSTMImpl>(m->clone());
  REQUIRE(copy);
  CHECK(std::get<0>(copy->forward(x)).equal(std::get<0>(m->forward(x))));
  CHECK_FALSE(copy->all_weights()[0].is_same(m->all_weights()[0]));
  m->to(kFloat64);
  CHECK(std::get<0>(m->forward(x.to(kFloat64))).dtype() == kFloat64);

  for (const bool lstm : {false, true}) {
    const nn::LSTM l(2, 2);
    const nn::GRU g(2, 2);
    l->to(kFloat64), g->to(kFloat64);
    const Tensor in = randn({2, 1, 2}, kFloat64).requires_grad_();
    const auto run = [&](const autograd::variable_list& v) -> Tensors {
      return {lstm ? std::get<0>(l->forward(v[0])) : std::get<0>(g->forward(v[0]))};
    };
    CHECK(autograd::gradgradcheck(run, {in}));
  }
}

TEST_CASE("recurrent modules refuse what does not fit", "[nn][recurrent]") {
  const nn::LSTM lstm(2, 3);
  const nn::GRU gru(2, 3);
  const nn::GRUCell cell(2, 3);
  const auto pair = [](const Tensor& h, const Tensor& c) { return std::make_tuple(h, c); };
  const Tensor x = zeros({4, 5, 2});
  CHECK_THROWS_WITH(
      lstm(zeros({4, 5, 3})),
      Contains("LSTM: input.size(-1) must be equal to input_size. Expected 2, got 3; input is (4, 5, 3)"));
  CHECK_THROWS_WITH(lstm(zeros({2})), Contains("LSTM: Expected input to be 2D or 3D, got 1D instead"));
  CHECK_THROWS_WITH(lstm(x, pair(zeros({1, 5, 3}), zeros({1, 4, 3}))),
                    Contains("Expected hidden[1] size (1, 5, 3), got (1, 4, 3)"));
  CHECK_THROWS_WITH(lstm(zeros({4, 2}), pair(zeros({1, 5, 3}), zeros({1, 5, 3}))),
                    Contains("For unbatched 2-D input, hx and cx should also be 2-D but got (3-D, 3-D) tensors"));
  CHECK_THROWS_WITH(lstm(x.to(kFloat64)), Contains("float64") && Contains("float32"));
  CHECK_THROWS_WITH(gru(x, zeros({1, 5, 3}, kFloat64)),
                    Contains("expected input and hx to have the same dtype, but got: float32 != float64"));
  CHECK_THROWS_WITH(gru(zeros({0, 5, 2})), Contains("Expected sequence length to be larger than 0 in RNN"));
  CHECK(std::get<0>(gru(zeros({4, 0, 2}))).sizes() == IntArrayRef{4, 0, 3});
  CHECK_THROWS_WITH(cell(zeros({4, 3})), Contains("GRUCell: input has inconsistent input_size: got 3 expected 2"));
  CHECK_THROWS_WITH(cell(zeros({4, 2}), zeros({3, 3})),
                    Contains("Input batch size 4 doesn't match hidden batch size 3"));
  CHECK_THROWS_WITH(cell(zeros({4, 2}), zeros({3})), Contains("Expected hidden to be 2D, got 1D instead"));
  CHECK_THROWS_WITH(nn::GRU(2, 0), Contains("GRU: hidden_size must be greater than zero"));
  CHECK_THROWS_WITH(nn::LSTMCell(2, 0), Contains("LSTMCell: hidden_size must be greater than zero"));
  CHECK_THROWS_WITH(nn::LSTM(nn::LSTMOptions(2, 3).proj_size(3)),
                    Contains("proj_size has to be a positive integer, smaller than hidden_size or zero to disable"));
  CHECK_THROWS_WITH(nn::GRU(nn::GRUOptions(2, 3).dropout(1.5)), Contains("dropout should be a number in range [0, 1]"));
  CHECK_THROWS_WITH(nn::RNN(nn::RNNOptions(2, 3).nonlinearity(kSigmoid)), Contains("RNN: Unknown nonlinearity"));
}

}  // namespace tandem
