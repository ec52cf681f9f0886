// Tests generate() and its filters against Hugging Face transformers (fixtures/generation.json), the cache of keys and
// values, and errors.
#include "tandem/models/generation.h"

#include "tandem/models/gpt.h"
#include "tandem/tests/models/generating.h"

namespace tandem {
using models::GenerationOptions, models::GptConfig, models::GptModel, models::KvCache;
using test::options_of, test::with_formula_weights;

namespace {

/// Options without dropout, so that training mode changes nothing.
GptConfig generating_gpt() {
  return GptConfig()
      .vocab_size(13)
      .n_positions(40)
      .n_embd(16)
      .n_layer(2)
      .n_head(4)
      .resid_pdrop(0)
      .embd_pdrop(0)
      .attn_pdrop(0);
}
}  // namespace

TEST_CASE("filter_logits keeps the tokens that transformers' warpers keep", "[models][generation]") {
  int found = 0;
  const nlohmann::json all = test::read_json("generation.json").at("rows");
  for (const auto& row : all) {
    if (row.at("name") != "filter") continue;
    INFO(row.at("options").dump());
    ++found;
    const Tensor logits = test::tensor_of(test::spec_of(row.at("input")), 1);
    const Tensor kept = models::filter_logits(logits, options_of(row));
    for (int64_t i = 0; i < kept.size(0); ++i) {
      const Tensor at = kept[i].gt(-INFINITY).nonzero().flatten();
      const auto expected = row.at("kept")[static_cast<size_t>(i)].get<std::vector<int64_t>>();
      CHECK(at.equal(tensor(expected)));
    }
    test::check_tensor("probabilities", kept.softmax(-1), row.at("probabilities"));
  }
  CHECK(found == 9);
  // Equal logits at the limit of top_k are all kept.
  const Tensor tied = tensor({1.0, 3.0, 1.0, 2.0}).reshape({1, 4});
  CHECK(models::filter_logits(tied, GenerationOptions().top_k(3)).equal(tied));
  CHECK(models::filter_logits(tied, GenerationOptions().top_k(0)).equal(tied));
}

TEST_CASE("GptModel generates transformers' tokens, with padding and several stops", "[models][generation][gpt]") {
  test::check_generated("gpt", with_formula_weights(GptModel(generating_gpt())));
}

TEST_CASE("A cache gives the logits of the whole text, in parts of any length", "[models][generation][gpt]") {
  manual_seed(1);
  const GptModel model(generating_gpt());
  model->to(kFloat64);
  model->eval();
  const Tensor ids = randint(13, {2, 9}), mask = ones({2, 9}, kInt64);
  mask[1].narrow(0, 0, 2).zero_();
  const NoGradGuard no_grad;
  for (const bool padded : {false, true}) {
    const auto masked = [&](int64_t length) { return padded ? mask.narrow(1, 0, length) : Tensor(); };
    const Tensor whole = model(ids, masked(9));
    KvCache cache = model->make_cache(2, 9);
    int64_t at = 0;
    for (const int64_t part : {4, 1, 3, 1}) {
      const Tensor logits = model(ids.narrow(1, at, part), masked(at + part), &cache);
      const int64_t from = padded && at == 0 ? 2 : 0;  // rows of padding have no meaning
      CHECK(logits.narrow(1, from, part - from)
                .allclose(whole.narrow(1, at + from, part - from), 1e-10, 1e-10));  // float64
      at += part;
    }
    CHECK(cache.length() == 9);
    CHECK_THROWS_WITH(model(ids.narrow(1, 0, 1), Tensor(), &cache), Contains("9 tokens are stored, and 1 are new"));
    cache.crop(4);
    CHECK(model(ids.narrow(1, 4, 5), masked(9), &cache).allclose(whole.narrow(1, 4, 5), 1e-10, 1e-10));
    CHECK_THROWS_WITH(cache.crop(10), Contains("crop to 10 tokens; accepted: 0 to 9"));
  }
  {
    const InferenceMode inference;
    KvCache cache = model->make_cache(2, 9);
    CHECK(model(ids, Tensor(), &cache).allclose(model(ids), 1e-10, 1e-10));
  }
  // Padding before a text does not change the text's logits.
  CHECK(model(ids, mask)[1].narrow(0, 2, 7).allclose(model(ids[1].narrow(0, 2, 7).unsqueeze(0))[0], 1e-10, 1e-10));
}

TEST_CASE("generate uses the cache under autocast and in bfloat16", "[models][generation][gpt]") {
  manual_seed(2);
  const GptModel model(generating_gpt());
  model->eval();
  const Tensor ids = randint(13, {2, 5});
  const auto options = GenerationOptions().max_new_tokens(6);
  {
    const AutocastGuard autocast(kCPU, kBFloat16);
    CHECK(model->generate(ids, options).sizes() == IntArrayRef({2, 11}));
  }
  model->to(kBFloat16);
  CHECK(model->generate(ids, options).sizes() == IntArrayRef({2, 11}));
}

TEST_CASE("Sampling draws from the filtered distribution, and a seed repeats it", "[models][generation]") {
  const GptModel model = with_formula_weights(GptModel(generating_gpt()));
  const Tensor ids = tensor({1, 2, 3}).reshape({1, 3});
  const auto sampled = GenerationOptions().do_sample(true).max_new_tokens(20).temperature(2).top_k(0);
  const auto with_seed = [&](uint64_t seed) { return model->generate(ids, GenerationOptions(sampled).seed(seed)); };
  CHECK(with_seed(1).equal(with_seed(1)));
  CHECK(!with_seed(1).equal(with_seed(2)));
  CHECK(with_seed(1).equal(model->generate(ids, GenerationOptions(sampled).seed(1).use_cache(false))));
  manual_seed(3);
  const Tensor first = model->generate(ids, sampled);
  manual_seed(3);
  CHECK(first.equal(model->generate(ids, sampled)));
  const Tensor greedy = model->generate(ids, GenerationOptions().max_new_tokens(20));
  CHECK(model->generate(ids, GenerationOptions(sampled).top_k(1)).equal(greedy));

  // 4,000 draws of one token: frequencies within five standard deviations of the probabilities.
  const int64_t draws = 4000;
  const auto once = GenerationOptions().do_sample(true).max_new_tokens(1).temperature(3).top_k(6).seed(4);
  const Tensor drawn = model->generate(ids.expand({draws, 3}).contiguous(), once).select(1, 3);
  const NoGradGuard no_grad;
  const Tensor expected = models::filter_logits(model(ids).select(1, -1), once).softmax(-1)[0];
  const Tensor frequency = nn::functional::one_hot(drawn, 13).to(kFloat64).mean(0);
  const Tensor deviation = (expected * (1 - expected) / draws).sqrt();
  CHECK(((frequency - expected).abs() <= 5 * deviation).all().item<bool>());
}

TEST_CASE("generate calls the streamer and names options that do not fit", "[models][generation]") {
  const GptModel model = with_formula_weights(GptModel(generating_gpt()));
  const Tensor ids = tensor({1, 2, 3, 4}).reshape({2, 2});
  std::vector<Tensor> steps;
  const auto three = GenerationOptions().max_new_tokens(3);
  const Tensor tokens =
      model->generate(ids, GenerationOptions(three).streamer([&](const Tensor& t) { steps.push_back(t.clone()); }));
  CHECK(stack(steps, 1).equal(tokens.narrow(1, 2, 3)));
  CHECK(model->generate(ids, GenerationOptions().max_length(5)).equal(tokens));

  const auto fails = [&](const GenerationOptions& o, const char* message) {
    CHECK_THROWS_WITH(model->generate(ids, o), Contains(message));
  };
  fails(GenerationOptions(), "neither max_new_tokens nor max_length nor eos_token_id is set");
  fails(GenerationOptions(three).temperature(-1), "temperature is -1; it must be positive");
  fails(GenerationOptions(three).temperature(0), "temperature is 0");
  fails(GenerationOptions(three).top_k(-1), "top_k is -1");
  fails(GenerationOptions(three).top_p(0), "top_p is 0; accepted: above 0 and at most 1");
  fails(GenerationOptions(three).top_p(1.5), "top_p is 1.5");
  fails(GenerationOptions().max_new_tokens(0), "max_new_tokens is 0");
  fails(GenerationOptions().max_length(2), "input_ids has 2 tokens per text, so nothing may follow; max_length is 2");
  fails(GenerationOptions().max_new_tokens(39), "2 tokens and 39 new ones are 41, but GptModel has positions for 40");
  fails(GenerationOptions(three).eos_token_id(13), "eos_token_id is 13; accepted: 0 to 12");
  fails(GenerationOptions(three).pad_token_id(-1), "pad_token_id is -1");
  CHECK_THROWS_WITH(model->generate(ids[0], three), Contains("input_ids is int64 (2,); accepted: int64 (N, L)"));
  CHECK_THROWS_WITH(model->generate(ids, three, ones({2, 3})), Contains("attention_mask is (2, 3)"));
  CHECK_THROWS_WITH(model->generate(ids, three, tensor({1, 1, 1, 0}).reshape({2, 2})),
                    Contains("accepted: padding before the text"));
  CHECK_THROWS_WITH(model->generate(ids + 10, three), Contains("accepted: 0 to 12"));
  model->train();
  fails(three, "GptModel is in training mode; call eval() first");
  KvCache cache = model->make_cache(2, 4);
  CHECK_THROWS_WITH(model(ids, Tensor(), &cache), Contains("gradients are enabled"));
  CHECK_THROWS_WITH(KvCache(1, 1, 1, 0, 1), Contains("max_length 0"));
}

}  // namespace tandem
