#pragma once

#include <troupe/base/result.hpp>
#include <troupe/tensor/tensor.hpp>

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::tensors {

/// Letters.
inline constexpr int most_modes = 52;
/// a–z, then A–Z. Precondition: a letter
[[nodiscard]] constexpr int number_of(char mode) noexcept {
  return mode >= 'a' ? mode - 'a' : mode - 'A' + 26;
}
[[nodiscard]] constexpr char letter_of(int number) noexcept {
  return static_cast<char>(number < 26 ? 'a' + number : 'A' + number - 26);
}

/// A set of modes: a bit for each number.
using mode_set = std::uint64_t;
[[nodiscard]] constexpr mode_set set_of(char mode) noexcept {
  return mode_set{1} << number_of(mode);
}
[[nodiscard]] constexpr mode_set set_of(std::string_view modes) noexcept {
  mode_set all = 0;
  for (const char mode : modes)
    all |= set_of(mode);
  return all;
}
/// Calls `f` with each mode of a set, in the order of their numbers.
template <class F>
constexpr void for_each_mode(mode_set set, F f) {
  for (; set != 0; set &= set - 1)
    f(letter_of(std::countr_zero(set)));
}

/// "ik,kj->ij", without spaces.
struct equation {
  std::vector<std::string> operands;
  std::string result;
  std::string ellipsis{};  ///< the letters that took the place of "..."

  /// "mode 'k'", or "dimension 0 of the ellipsis".
  [[nodiscard]] std::string name_of(char mode) const;
  /// A list as it was given.
  [[nodiscard]] std::string given(std::string_view modes) const;
};

/// Each ellipsis becomes letters that the text has not: as many as the tensor has dimensions that
/// no mode names, the last ones of the longest. Without tensors there is no ellipsis.
/// \errors `invalid_argument` for text that is not a list of modes, with its position; for a wrong
/// number of lists; for a mode twice in the result, or in no operand unless it `may_repeat`; for a
/// result without the ellipsis that operands have. `shape_mismatch` for fewer dimensions than modes
/// beside an ellipsis
[[nodiscard]] result<equation> parse(std::string_view text, std::size_t operands,
                                     bool may_repeat = false,
                                     std::span<const any_tensor* const> tensors = {},
                                     std::span<const std::string> names = {});

/// The extent of each mode; 1 for modes that do not occur.
class mode_extents {
 public:
  mode_extents() noexcept { extents_.fill(1); }
  /// \errors `shape_mismatch` for a rank or an extent, naming the mode and the tensors that
  /// disagree
  [[nodiscard]] static result<mode_extents> of(const equation& e,
                                               std::span<const any_tensor* const> operands,
                                               std::span<const std::string> names);
  /// Checks that d has them. If operands `may_repeat`, d has other extents for modes that they lack
  /// or have with extent 1.
  [[nodiscard]] result<void> take_result(const equation& e, const any_tensor& d, bool may_repeat);

  [[nodiscard]] std::int64_t operator[](char mode) const noexcept {
    return extents_[static_cast<std::size_t>(number_of(mode))];
  }
  /// The number of indices of all modes of a set together.
  [[nodiscard]] double count(mode_set set) const noexcept;

 private:
  std::array<std::int64_t, most_modes> extents_{};
  mode_set known_ = 0;
};

/// A request's tensors and modes.
struct named_tensors {
  equation modes;
  mode_extents extents;

  /// Does not check d if `d` is null, because it is still to be allocated.
  /// \errors those of `parse` and of `mode_extents`
  [[nodiscard]] static result<named_tensors> of(std::string_view text,
                                                std::span<const any_tensor* const> operands,
                                                std::span<const std::string> names,
                                                const any_tensor* d, bool may_repeat = false);
  [[nodiscard]] std::vector<std::int64_t> result_extents() const;
};

}  // namespace troupe::tensors
