// Declares the command-line options of `tandem generate`.
#include "tandem/tools/command_line.h"
#include "tandem/tools/generate/generate.h"

namespace tandem::tools {

void add_generate_command(CLI::App& app) {
  auto s = std::make_shared<generate::Settings>();
  CLI::App* const c = app.add_subcommand("generate", "Write text with a language model");
  add_option(*c, "--model", s->model, "FOLDER",
             "GPT-2 or Llama as Hugging Face lays it out: config.json, weights and tokenizer")
      ->required();
  add_option(*c, "--prompt", s->prompt, "TEXT", "Text to continue")->default_str("the start of a text");
  add_option(*c, "--prompt-file", s->prompt_file, "FILE", "File with the text to continue")
      ->default_str("none")
      ->check(make_existing_file_validator());
  add_option(*c, "--max-new-tokens", s->max_new_tokens, "N",
             "Maximum number of new tokens; the text may end earlier with the end-of-text token")
      ->default_str("200, or fewer if the model has no more positions")
      ->check(make_integer_validator(1));
  add_option(*c, "--temperature", s->temperature, "X", "Divides the logits: below 1 likely tokens become likelier")
      ->check(make_number_validator(1e-6, 1e6));
  add_option(*c, "--top-k", s->top_k, "N", "Draw from the N most likely tokens; 0: from all")
      ->check(make_integer_validator(0));
  add_option(*c, "--top-p", s->top_p, "X", "Draw from the most likely tokens whose probabilities add up to X")
      ->check(make_number_validator(1e-9, 1));
  c->add_flag("--greedy", s->greedy, "Take the most likely token instead of drawing one");
  add_option(*c, "--seed", s->seed, "N", "Seed of the first text; the next has N + 1")
      ->check(make_integer_validator(0));
  add_option(*c, "--num-samples", s->num_samples, "N", "Number of texts")->check(make_integer_validator(1, 1 << 20));
  c->add_flag("--no-cache", s->no_cache, "Compute keys and values of all tokens again for each new token");
  add_option(*c, "--device", s->device, "NAME", "Device to compute on: auto (a GPU if there is one), cpu or gpu")
      ->check(make_choice_validator({"auto", "cpu", "gpu"}));
  c->footer("example: tandem generate --model my_gpt --prompt \"In the beginning\" --temperature 0.8");
  c->callback([s] { generate::generate(*s); });
}

}  // namespace tandem::tools
