// Builds a page as one HTML file without scripts or external resources: render_html(Page), and tables, groups of
// charts, paragraphs and lists for its sections.
#pragma once
#include <string>
#include <vector>

namespace tandem::tools::page {

struct Section {
  std::string id, title;
  std::string body;  // content of the section, as HTML
};

struct Page {
  std::string title, heading;  // title: text in the browser's tab; heading: text at the top of the page
  std::string style = {};      // CSS to append to page_style()
  std::string introduction;    // HTML below the heading
  std::vector<Section> sections = {};
  std::string footer;
};
std::string render_html(const Page& page);

/// Returns the CSS that all pages share.
std::string page_style();
/// Returns an invisible SVG that defines the patterns to which the CSS refers.
std::string page_patterns();

/// Lays out charts side by side if there is room. They share one legend, unless two charts use the same mark with
/// different meanings. Returns "" if `figures` is empty.
std::string group_charts(const std::string& figures);
/// Returns a paragraph with escaped text; "" for an empty text.
std::string paragraph(const std::string& text);
std::string bullet_list(const std::vector<std::string>& texts);

/// Returns <details> that hide `body` until they are opened; "" if `body` is empty.
std::string collapsible(const std::string& summary, const std::string& body);

/// A table inside <details>.
class Table {
 public:
  /// @param text_columns  number of columns, from the left, that contain text. The other columns contain numbers and
  /// are right-aligned.
  Table(std::string caption, std::vector<std::string> head, size_t text_columns = 1);
  void add_row(const std::vector<std::string>& cells, bool marked = false);
  /// Adds a row for a failed run, with `reason` in place of the missing figures.
  void add_failed_row(const std::vector<std::string>& cells, const std::string& reason);
  bool empty() const { return rows_.empty(); }
  std::string render_html() const;

 private:
  std::string caption_, rows_;
  std::vector<std::string> head_;
  size_t text_columns_;
};

}  // namespace tandem::tools::page
