// TextStreamer: turns tokens into text while they are generated.
#pragma once
#include <functional>
#include <string>

#include "tandem/text/tokenizer.h"

namespace tandem::text {

/// Passes the text of tokens on as soon as it is complete. A token may end within the bytes of a character; such bytes
/// are kept until the next tokens complete the character. For tokenizers whose tokens decode independently, as
/// GPT2Tokenizer's do.
///
///     text::TextStreamer streamer(*tokenizer, [](const std::string& text) { std::cout << text << std::flush; });
///     model->generate(ids, options.streamer([&](const Tensor& next) { streamer.put(next.item<int64_t>()); }));
///     streamer.end();
class TextStreamer {
 public:
  /// @param tokenizer  must outlive the streamer
  /// @param on_text    receives the parts of the text, none of them empty
  TextStreamer(const Tokenizer& tokenizer, std::function<void(const std::string&)> on_text,
               bool skip_special_tokens = true)
      : tokenizer_(tokenizer), on_text_(std::move(on_text)), skip_special_tokens_(skip_special_tokens) {}
  /// Adds a token. @throws IndexError for a number that no token has
  void put(int64_t id);
  /// Passes on the bytes that are left, even if they are no complete character.
  void end();

 private:
  void pass_on(size_t count);
  const Tokenizer& tokenizer_;
  std::function<void(const std::string&)> on_text_;
  bool skip_special_tokens_;
  std::string bytes_;  // not passed on yet
};

}  // namespace tandem::text
