# Extracts the C++ blocks of Markdown pages: awk -v OUT=FOLDER -v SOURCE=CHECKOUT -f extract.awk README.md docs/*.md
# Writes to OUT a source file for each block, tandem_PAGE_LINE.cpp, or libtorch_PAGE_LINE.cpp if the block uses torch::.
# Also writes cases_tandem.cpp and cases_libtorch.cpp, with a test case that runs each block. A comment before a block
# changes this:
#   <!-- after FILE -->      the block is statements, which follow the code of FILE
#   <!-- from FILE -->       the block is not compiled; each of its lines must occur in FILE
#   <!-- not run: REASON --> the block is ignored
function begin_block() {
  lines = 0
  start = FNR
  page = FILENAME
  sub(".*/", "", page)
}
function squeezed(text) {
  gsub(/\\$/, "", text)
  gsub(/[ \t]+/, "", text)
  return text
}
function check_lines(file, i, line, found, all) {
  all = ""
  while ((getline line < (SOURCE "/" file)) > 0) all = all "\n" squeezed(line) "\n"
  close(SOURCE "/" file)
  for (i = 1; i <= lines; ++i)
    if (squeezed(block[i]) != "" && index(all, "\n" squeezed(block[i]) "\n") == 0) {
      print FILENAME ":" start + i ": " file " has no such line: " block[i] > "/dev/stderr"
      failed = 1
    }
}
function write_block(prelude, i, line, file, name, kind, is_program, includes, body, before, call) {
  includes = body = before = ""
  kind = "tandem"
  if (prelude != "") {
    while ((getline line < (SOURCE "/" prelude)) > 0)
      if (line ~ /^#include/) includes = includes line "\n"
      else before = before line "\n"
    close(SOURCE "/" prelude)
  }
  is_program = 0
  for (i = 1; i <= lines; ++i) {
    line = block[i]
    if (line ~ /torch::/) kind = "libtorch"
    if (line ~ /^#include/) {
      includes = includes line "\n"
      line = ""
    }
    if (line ~ /^int main\(/) {
      is_program = 1
      takes_arguments = line ~ /argc/
      sub(/int main/, "int program", line)
    }
    if (i == lines && line == "}" && is_program) line = "  return 0;\n}"  # main may omit it, but this function may not
    if (prelude != "") gsub(/"cuda:/, "\"cpu:", line)  # code for GPUs runs on virtual CPU devices
    body = body line "\n"
  }
  name = page "_" start
  gsub(/[^A-Za-z0-9]/, "_", name)
  file = OUT "/" kind "_" name ".cpp"
  header = kind == "tandem" ? "<tandem/tandem.h>" : "<torch/torch.h>"
  printf "#include %s\n%snamespace %s {\n%s", header, includes, name, kind == "tandem" ? "using namespace tandem;\n" : "" > file
  if (!is_program) printf "void program() {\n%s", before > file
  printf "#line %d \"%s\"\n%s%s}\n", start + 1, FILENAME, body, is_program ? "" : "}\n" > file
  close(file)
  declarations[kind] = declarations[kind] sprintf("namespace %s {\n%s program(%s);\n}\n", name, is_program ? "int" : "void",
                                                  is_program && takes_arguments ? "int, char**" : "")
  cases[kind] = cases[kind] sprintf("TEST_CASE(\"the code of %s, line %d\") { tandem::test::run(%s::program); }\n", page, start, name)
}
FNR == 1 { mark = "" }
/^ *```/ && !inside {
  inside = 1
  is_cpp = $0 ~ /```cpp/
  indent = match($0, /[^ ]/) - 1
  begin_block()
  next
}
/^ *```/ && inside {
  inside = 0
  if (is_cpp && mark ~ /^from /) check_lines(substr(mark, 6))
  else if (is_cpp && mark ~ /^after /) write_block(substr(mark, 7))
  else if (is_cpp && mark !~ /^not run: ./) write_block("")
  mark = ""
  next
}
inside { block[++lines] = substr($0, indent + 1); next }
/^ *<!-- .* -->$/ {
  mark = $0
  sub(/^ *<!-- /, "", mark)
  sub(/ -->$/, "", mark)
  next
}
/[^ ]/ { mark = "" }
END {
  for (kind in declarations) {
    file = OUT "/cases_" kind ".cpp"
    printf "// Made by tests/docs/extract.awk.\n#include \"tandem/tests/docs/run.h\"\n%s%s", declarations[kind], cases[kind] > file
  }
  exit failed
}
