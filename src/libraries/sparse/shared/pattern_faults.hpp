#pragma once

#include "libraries/sparse/shared/pattern.hpp"

#include <cstdint>
#include <string_view>

/// The defects of a pattern, and both backends' messages for them.
namespace troupe::sparse {

struct pattern_fault {
  enum class kind : std::uint8_t {
    none,
    first_offset,    ///< `value` is not 0
    descends,        ///< offset `value` of `major` is less than the one before, `other`
    last_offset,     ///< `value` is not the number of slots, `other`
    slice_width,     ///< slice `major` has `value` slots, no multiple of `other`
    row_outside,     ///< slot `major` of coo has row `value`, outside [0, `other`)
    row_behind,      ///< slot `major` of coo has row `value` behind row `other`
    outside,         ///< `major` has index `value`, outside [0, `other`)
    twice,           ///< `major` has index `value` twice
    behind,          ///< `major` has index `value` behind `other`
    behind_padding,  ///< `major` has index `value` behind padding
  };

  kind what = kind::none;
  std::int64_t major = 0;
  std::int64_t value = 0;
  std::int64_t other = 0;
};

/// The required properties of a pattern.
enum class pattern_claim : std::uint8_t {
  places,  ///< each element has a place in the matrix
  order,   ///< and its row in order, and only once
};

/// The checks of a pattern, numbered; the first one that finds a fault gives the error.
class pattern_checks {
 public:
  constexpr pattern_checks(const pattern& of, pattern_claim claim) noexcept
      : p_(of), ordered_(claim == pattern_claim::order) {}

  [[nodiscard]] constexpr sparse_format format() const noexcept { return p_.format; }

  [[nodiscard]] constexpr std::int64_t number() const noexcept {
    return (has_offsets() ? p_.majors + 1 : 0) + p_.slots;
  }
  [[nodiscard]] constexpr pattern_fault check(std::int64_t i) const noexcept {
    if (!has_offsets()) return slot(i);
    return i <= p_.majors ? offset(i) : slot(i - p_.majors - 1);
  }

 private:
  using kind = pattern_fault::kind;

  [[nodiscard]] constexpr bool has_offsets() const noexcept {
    return p_.format != sparse_format::coo && p_.format != sparse_format::blocked_ell;
  }
  [[nodiscard]] constexpr pattern_fault offset(std::int64_t i) const noexcept {
    const std::int64_t here = p_.offsets[i];
    if (i == 0 && here != 0) return {.what = kind::first_offset, .value = here};
    if (i > 0) {
      const std::int64_t before = p_.offsets[i - 1];
      if (here < before)
        return {.what = kind::descends, .major = i - 1, .value = here, .other = before};
      // A value outside int64 is no width: the last offset is wrong then, or one descends.
      if (before >= 0 && (here - before) % p_.slice_rows != 0)
        return {.what = kind::slice_width,
                .major = i - 1,
                .value = here - before,
                .other = p_.slice_rows};
    }
    if (i == p_.majors && here != p_.slots)
      return {.what = kind::last_offset, .value = here, .other = p_.slots};
    return {};
  }
  /// The result counts only if no check of an offset found a fault.
  [[nodiscard]] constexpr pattern_fault slot(std::int64_t k) const noexcept {
    std::int64_t major = k;
    std::int64_t before = k - 1;  // the slot before in the same row, if not negative
    switch (p_.format) {
      case sparse_format::coo: {
        const std::int64_t row = p_.row_indices[k];
        if (row < 0 || row >= p_.rows)
          return {.what = kind::row_outside, .major = k, .value = row, .other = p_.rows};
        if (k > 0 && ordered_) {
          const std::int64_t last = p_.row_indices[k - 1];
          if (row < last)
            return {.what = kind::row_behind, .major = k, .value = row, .other = last};
          if (row > last) before = -1;
        }
        major = row;
        break;
      }
      case sparse_format::blocked_ell:
        major = k / p_.width;
        if (k % p_.width == 0) before = -1;
        break;
      case sparse_format::csr:
      case sparse_format::csc:
      case sparse_format::bsr:
      case sparse_format::sliced_ell: {
        if (p_.majors == 0) return {};
        major = p_.major_of(k);
        if (!p_.covers(major, k)) return {};
        std::int64_t in_major = k - p_.offsets[major];
        if (p_.format == sparse_format::sliced_ell) {
          before = k - p_.slice_rows;
          major = major * p_.slice_rows + in_major % p_.slice_rows;
          in_major /= p_.slice_rows;
          if (major >= p_.rows) return {};
        }
        if (in_major == 0) before = -1;
        break;
      }
    }
    const std::int64_t here = p_.indices[k];
    const bool padded = p_.has_padding() && here == -1;
    if (!padded && (here < 0 || here >= p_.minors()))
      return {.what = kind::outside, .major = major, .value = here, .other = p_.minors()};
    if (before < 0 || padded || !ordered_) return {};
    const std::int64_t last = p_.indices[before];
    if (p_.has_padding() && last == -1)
      return {.what = kind::behind_padding, .major = major, .value = here};
    if (here == last) return {.what = kind::twice, .major = major, .value = here};
    if (here < last) return {.what = kind::behind, .major = major, .value = here, .other = last};
    return {};
  }

  pattern p_;
  bool ordered_;
};

/// The words for rows and columns in a message.
[[nodiscard]] constexpr std::string_view major_word(sparse_format format) noexcept {
  if (format == sparse_format::csc) return "column ";
  if (format == sparse_format::bsr || format == sparse_format::blocked_ell) return "block row ";
  return "row ";
}
[[nodiscard]] constexpr std::string_view minor_word(sparse_format format) noexcept {
  if (format == sparse_format::csc) return "row ";
  if (format == sparse_format::bsr || format == sparse_format::blocked_ell) return "block column ";
  return "column ";
}

/// Calls `write` with the parts of the message: literals, numbers, and words of the caller's type.
template <class Words, class Write>
constexpr void tell(const pattern_fault& f, const Words& major, const Words& minor,
                    const Write& write) {
  using kind = pattern_fault::kind;
  switch (f.what) {
    case kind::none:
      return;
    case kind::first_offset:
      return write("offsets[0] is ", f.value, ", not 0");
    case kind::descends:
      return write("offsets[", f.major + 1, "] is ", f.value, ", less than the one before, ",
                   f.other);
    case kind::last_offset:
      return write("the last of offsets is ", f.value, ", not the number of elements, ", f.other);
    case kind::slice_width:
      return write("slice ", f.major, " has ", f.value, " elements, which are not rows of ",
                   f.other);
    case kind::row_outside:
      return write("element ", f.major, ": row ", f.value, " is outside [0, ", f.other, ")");
    case kind::row_behind:
      return write("element ", f.major, ": row ", f.value, " comes behind row ", f.other);
    case kind::outside:
      return write(major, f.major, ": ", minor, f.value, " is outside [0, ", f.other, ")");
    case kind::twice:
      return write(major, f.major, ": ", minor, f.value, " occurs twice");
    case kind::behind:
      return write(major, f.major, ": ", minor, f.value, " comes behind ", minor, f.other);
    case kind::behind_padding:
      return write(major, f.major, ": ", minor, f.value, " comes behind padding");
  }
}

/// The message of executors that find an element without a place.
inline constexpr std::string_view no_place_before = "element ";
inline constexpr std::string_view no_place_after =
    " of the sparse matrix is outside its rows or columns";

}  // namespace troupe::sparse
