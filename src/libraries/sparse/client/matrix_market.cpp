#include "libraries/sparse/client/coordinates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <istream>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace troupe::sparse {
namespace {

error wrong(std::int64_t line, std::string_view what) {
  return {.code = errc::invalid_argument,
          .message = fmt::format("Matrix Market file, line {}: {}", line, what)};
}

enum class symmetry : std::uint8_t { general, symmetric, skew, hermitian };

/// The content of the first line.
struct header {
  bool dense = false;
  bool pattern = false;
  bool is_complex = false;
  symmetry how = symmetry::general;
};

/// Words of a line, one after another.
class words {
 public:
  explicit words(std::string_view line) noexcept : rest_(line) { skip(); }
  [[nodiscard]] bool empty() const noexcept { return rest_.empty(); }
  [[nodiscard]] std::string_view next() noexcept {
    const std::string_view word = rest_.substr(0, rest_.find_first_of(" \t\r"));
    rest_.remove_prefix(word.size());
    skip();
    return word;
  }
  /// Reads a number; leaves `to` unchanged if there is none.
  template <class T>
  [[nodiscard]] bool number(T& to) noexcept {
    std::string_view word = next();
    if (word.starts_with('+')) word.remove_prefix(1);
    const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), to);
    return code == std::errc() && end == word.data() + word.size() && !word.empty();
  }

 private:
  void skip() noexcept {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r"), rest_.size()));
  }
  std::string_view rest_;
};

class reader {
 public:
  explicit reader(std::istream& from) : from_(from) {}

  result<coordinates> read() {
    if (!next_line() || !read_header()) return wrong(line_, "no header of a matrix");
    do {
      if (!next_line()) return wrong(line_, "the file ends before its sizes");
    } while (text_.starts_with('%') || words(text_).empty());
    words sizes(text_);
    std::int64_t count = 0;
    bool good = sizes.number(all_.rows) && sizes.number(all_.columns);
    if (head_.dense) {
      good = good && all_.rows >= 0 && all_.columns >= 0 &&
             (all_.columns == 0 || all_.rows <= max_elements / all_.columns);
    } else {
      good = good && sizes.number(count) && count >= 0;
    }
    if (!good || !sizes.empty() || all_.rows < 0 || all_.columns < 0)
      return wrong(line_, "these are no sizes");
    if (head_.how != symmetry::general && all_.rows != all_.columns)
      return wrong(line_, "a matrix with a symmetry is square");
    all_.is_complex = head_.is_complex;
    if (auto done = head_.dense ? read_array() : read_elements(count); !done)
      return std::move(done).error();
    while (next_line()) {
      if (!words(text_).empty()) return wrong(line_, "more lines than elements");
    }
    return std::move(all_);
  }

 private:
  bool next_line() {
    ++line_;
    return static_cast<bool>(std::getline(from_, text_));
  }
  bool read_header() {
    std::ranges::transform(text_, text_.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    words all(text_);
    if (all.next() != "%%matrixmarket" || all.next() != "matrix") return false;
    const std::string_view form = all.next();
    const std::string_view field = all.next();
    const std::string_view how = all.next();
    head_.dense = form == "array";
    head_.pattern = field == "pattern";
    head_.is_complex = field == "complex";
    const bool known_field = head_.pattern || head_.is_complex || field == "real" ||
                             field == "integer" || field == "double";
    if (how == "symmetric") head_.how = symmetry::symmetric;
    if (how == "skew-symmetric") head_.how = symmetry::skew;
    if (how == "hermitian") head_.how = symmetry::hermitian;
    return (head_.dense || form == "coordinate") && known_field &&
           !(head_.dense && head_.pattern) && (how == "general" || head_.how != symmetry::general);
  }
  /// The next line that holds an element.
  result<void> next_element() {
    do {
      if (!next_line()) return wrong(line_, "the file ends before its last element");
    } while (words(text_).empty());
    return {};
  }
  [[nodiscard]] bool read_value(words& of, std::complex<double>& to) const {
    if (head_.pattern) {
      to = 1.0;
      return of.empty();
    }
    double real = 0;
    double imaginary = 0;
    if (!of.number(real) || (head_.is_complex && !of.number(imaginary))) return false;
    to = {real, imaginary};
    return of.empty();
  }
  void put(std::int64_t i, std::int64_t j, std::complex<double> v) {
    all_.row_indices.push_back(i);
    all_.column_indices.push_back(j);
    all_.values.push_back(v);
  }
  void add(std::int64_t i, std::int64_t j, std::complex<double> v) {
    put(i, j, v);
    if (i == j || head_.how == symmetry::general) return;
    put(j, i,
        head_.how == symmetry::skew        ? -v
        : head_.how == symmetry::hermitian ? std::conj(v)
                                           : v);
  }
  result<void> read_elements(std::int64_t count) {
    for (std::int64_t k = 0; k < count; ++k) {
      if (auto there = next_element(); !there) return there;
      words all(text_);
      std::int64_t i = 0;
      std::int64_t j = 0;
      std::complex<double> v;
      if (!all.number(i) || !all.number(j) || !read_value(all, v))
        return wrong(line_, "this is no element");
      if (i < 1 || i > all_.rows || j < 1 || j > all_.columns)
        return wrong(line_, fmt::format("element ({}, {}) is outside [{}, {}]", i, j, all_.rows,
                                        all_.columns));
      add(i - 1, j - 1, v);
    }
    return {};
  }
  /// Column by column; of a matrix with a symmetry the lower triangle.
  result<void> read_array() {
    for (std::int64_t j = 0; j < all_.columns; ++j) {
      const std::int64_t first = head_.how == symmetry::general ? 0
                                 : head_.how == symmetry::skew  ? j + 1
                                                                : j;
      for (std::int64_t i = first; i < all_.rows; ++i) {
        if (auto there = next_element(); !there) return there;
        words all(text_);
        std::complex<double> v;
        if (!read_value(all, v)) return wrong(line_, "this is no value");
        if (v != std::complex<double>()) add(i, j, v);
      }
    }
    return {};
  }

  std::istream& from_;
  std::string text_;
  std::int64_t line_ = 0;
  header head_;
  coordinates all_;
};

}  // namespace

result<coordinates> read_matrix_market(std::istream& from) { return reader(from).read(); }

result<coordinates> read_matrix_market(const std::filesystem::path& file) {
  std::ifstream from(file);
  if (!from) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("{} cannot be opened", file.string())};
  }
  return read_matrix_market(from);
}

result<void> write_matrix_market(const coordinates& a, std::ostream& to) {
  if (auto good = check(a); !good) return good;
  to << "%%MatrixMarket matrix coordinate " << (a.is_complex ? "complex" : "real") << " general\n"
     << a.rows << ' ' << a.columns << ' ' << a.values.size() << '\n';
  for (std::size_t k = 0; k < a.values.size(); ++k) {
    to << fmt::format("{} {} {}", a.row_indices[k] + 1, a.column_indices[k] + 1,
                      a.values[k].real());
    if (a.is_complex) to << ' ' << fmt::format("{}", a.values[k].imag());
    to << '\n';
  }
  if (to.flush()) return {};
  return error{.code = errc::library_error, .message = "the matrix cannot be written"};
}

result<void> write_matrix_market(const coordinates& a, const std::filesystem::path& file) {
  std::ofstream to(file);
  if (!to) {
    return error{.code = errc::library_error,
                 .message = fmt::format("{} cannot be written", file.string())};
  }
  return write_matrix_market(a, to);
}

}  // namespace troupe::sparse
