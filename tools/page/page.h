// A page as one HTML file without scripts or requests: html(Page), and the parts of its sections: tables, groups of
// charts, paragraphs, lists.
#pragma once
#include <string>
#include <vector>

namespace tandem::tools::page {

struct Section {
  std::string id, title;
  std::string body;  // HTML
};

struct Page {
  std::string title, heading;  // title: of the browser's tab
  std::string style = {};      // more CSS, behind page_style()
  std::string introduction;    // HTML below the heading
  bool contents = false;       // a list of links to the sections, above them
  std::vector<Section> sections = {};
  std::string footer;
};
std::string html(const Page& page);

/// The CSS of all pages.
std::string page_style();

/// Charts beside each other where there is room, under one legend unless the same mark means different things in them.
/// Empty if there are none.
std::string charts(const std::string& figures);
/// Escaped. Empty for an empty text.
std::string paragraph(const std::string& text);
std::string bullets(const std::vector<std::string>& texts);

/// A table inside <details>.
class Table {
 public:
  /// @param text_columns  Number of columns, from the left, that hold text. The others hold numbers and are
  /// right-aligned.
  Table(std::string caption, std::vector<std::string> head, size_t text_columns = 1);
  void add(const std::vector<std::string>& cells, bool marked = false);
  /// A row whose figures are missing, with the reason in their place.
  void add_failed(const std::vector<std::string>& cells, const std::string& reason);
  bool empty() const { return rows_.empty(); }
  std::string html() const;

 private:
  std::string caption_, rows_;
  std::vector<std::string> head_;
  size_t text_columns_;
};

}  // namespace tandem::tools::page
