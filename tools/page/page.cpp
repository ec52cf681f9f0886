// Builds the HTML of a page and of its tables, groups of charts, paragraphs and lists.
#include "tandem/tools/page/page.h"

#include <map>
#include <utility>

#include "tandem/tools/page/format.h"

namespace tandem::tools::page {

std::string render_html(const Page& page) {
  std::string contents, sections;
  for (const Section& section : page.sections) {
    contents += str_cat("<li><a href=\"#", section.id, "\">", escape_html(section.title), "</a></li>\n");
    sections += str_cat("<section id=\"", section.id, "\">\n<a class=\"up\" href=\"#contents\">↑ contents</a><h2>",
                        escape_html(section.title), "</h2>\n", section.body, "</section>\n");
  }
  return str_cat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
      escape_html(page.title), "</title>\n<style>", page_style(), page.style, "</style>\n</head>\n<body>\n",
      page_patterns(), "<header>\n<h1>", escape_html(page.heading), "</h1>\n", page.introduction,
      "</header>\n<nav id=\"contents\" aria-label=\"Contents\"><ol>\n", contents, "</ol></nav>\n<main>\n", sections,
      "</main>\n<footer><p class=\"meta\">", escape_html(page.footer), "</p></footer>\n</body>\n</html>\n");
}

std::string group_charts(const std::string& figures) {
  if (figures.empty()) return "";
  const std::string begin = "<ul class=\"legend\">", end = "</ul>\n", item_end = "</li>";
  std::string without_legends, entries;
  std::map<std::string, std::string> entry_by_mark;  // maps the SVG of a mark to its legend entry
  size_t legends = 0, at = 0;
  bool clash = false;
  for (size_t found = figures.find(begin); found != std::string::npos; found = figures.find(begin, at)) {
    without_legends += figures.substr(at, found - at);
    at = figures.find(end, found) + end.size();
    ++legends;
    for (size_t i = found + begin.size(); figures.compare(i, end.size(), end) != 0;) {
      const size_t next = figures.find(item_end, i) + item_end.size();
      const std::string item = figures.substr(i, next - i);
      const size_t name = item.find("</svg>");
      const auto [known, inserted] = entry_by_mark.emplace(item.substr(0, name), item);
      if (inserted) entries += item;
      clash |= known->second != item;
      i = next;
    }
  }
  without_legends += figures.substr(at);
  if (legends < 2 || clash) return "<div class=\"charts\">\n" + figures + "</div>\n";
  return begin + entries + end + "<div class=\"charts\">\n" + without_legends + "</div>\n";
}
std::string collapsible(const std::string& summary, const std::string& body) {
  return body.empty()
             ? ""
             : "<details class=\"fold\"><summary>" + escape_html(summary) + "</summary>\n" + body + "</details>\n";
}
std::string paragraph(const std::string& text) { return text.empty() ? "" : "<p>" + escape_html(text) + "</p>\n"; }
std::string bullet_list(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += "<li>" + escape_html(text) + "</li>\n";
  return out.empty() ? "" : "<ul>\n" + out + "</ul>\n";
}

Table::Table(std::string caption, std::vector<std::string> head, size_t text_columns)
    : caption_(std::move(caption)), head_(std::move(head)), text_columns_(text_columns) {}

void Table::add_row(const std::vector<std::string>& cells, bool marked) {
  rows_ += marked ? "<tr class=\"bad\">" : "<tr>";
  for (size_t i = 0; i < cells.size(); ++i)
    rows_ += str_cat(i == 0 ? "<th scope=\"row\"" : "<td", i < text_columns_ ? ">" : " class=\"n\">",
                     escape_html(cells[i]), i == 0 ? "</th>" : "</td>");
  rows_ += "</tr>\n";
}
void Table::add_failed_row(const std::vector<std::string>& cells, const std::string& reason) {
  rows_ += "<tr class=\"failed\">";
  for (size_t i = 0; i < cells.size(); ++i)
    rows_ += str_cat(i == 0 ? "<th scope=\"row\"" : "<td", i < text_columns_ ? ">" : " class=\"n\">",
                     escape_html(cells[i]), i == 0 ? "</th>" : "</td>");
  rows_ += str_cat("<td colspan=\"", head_.size() - cells.size(), "\">failed: ", escape_html(reason), "</td></tr>\n");
}
std::string Table::render_html() const {
  if (rows_.empty()) return "";
  std::string head;
  for (size_t i = 0; i < head_.size(); ++i)
    head += str_cat("<th scope=\"col\"", i < text_columns_ ? ">" : " class=\"n\">", escape_html(head_[i]), "</th>");
  return str_cat("<details><summary>", escape_html(caption_), "</summary>\n<div class=\"box\"><table>\n<thead><tr>",
                 head, "</tr></thead>\n<tbody>\n", rows_, "</tbody></table></div></details>\n");
}

}  // namespace tandem::tools::page
