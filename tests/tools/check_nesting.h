// Checks that a page's HTML is well formed.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

namespace tandem::test {

/// Returns "" if all tags are closed in order, else a description of the first mistake. Tags that need no closing tag
/// are <meta> and those that end in "/>".
inline std::string check_nesting(const std::string& page) {
  std::vector<std::string> open;
  for (size_t at = page.find('<', page.find("<html")); at != std::string::npos; at = page.find('<', at + 1)) {
    const size_t end = page.find('>', at);
    if (end == std::string::npos) return "a tag without end";
    if (page.find('<', at + 1) < end) return "a < within a tag: " + page.substr(at, 60);
    const std::string tag = page.substr(at + 1, end - at - 1);
    if (tag.empty() || tag[0] == '!' || tag.back() == '/') continue;
    const bool closes = tag[0] == '/';
    const std::string name = tag.substr(closes ? 1 : 0, tag.find_first_of(" \n") - (closes ? 1 : 0));
    if (std::count(tag.begin(), tag.end(), '"') % 2 != 0) return "an open quote: " + tag;
    if (name == "meta") continue;
    if (!closes) {
      open.push_back(name);
    } else {
      if (open.empty() || open.back() != name)
        return "</" + name + "> closes " + (open.empty() ? "nothing" : open.back());
      open.pop_back();
    }
  }
  return open.empty() ? "" : open.back() + " stays open";
}

}  // namespace tandem::test
