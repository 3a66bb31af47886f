#pragma once

#include "request/description/table.hpp"

#include <troupe/base/result.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

/// Checks a request by its table: the first rule that fails is the verdict. It looks at fields,
/// never at memory.
class checker {
 public:
  checker(const description_table& t, const void* request) noexcept : t_(t), request_(request) {}

  [[nodiscard]] result<void> verdict();
  /// Checks only the types of the tensors that are given.
  [[nodiscard]] result<void> types_of_given();

 private:
  // Each returns whether the rule holds, and otherwise has recorded why not. Functions that only
  // build messages are kept out of the hot path.

  // checker.cpp
  [[nodiscard]] bool passes(check_step step);
  [[nodiscard]] bool given(std::size_t i);
  [[nodiscard]] bool groups(std::size_t i);
  [[nodiscard]] bool own_rule(const troupe::own_rule& rule);
  [[gnu::cold, gnu::noinline]] bool refuse(errc code, std::string_view what);

  // views.cpp
  [[nodiscard]] bool views(std::size_t i);
  [[nodiscard]] std::string view_name(std::size_t i) const;
  [[nodiscard]] bool view(std::size_t i, const any_tensor& x, bool is_one);
  [[nodiscard]] bool fits(std::size_t i, const any_tensor& x, int rank);
  [[nodiscard]] bool meets_layout(std::size_t i, const any_tensor& x);
  [[nodiscard]] bool apart();

  // shapes.cpp
  [[gnu::cold, gnu::noinline]] bool wrong_rank(std::size_t i, const any_tensor& x);
  [[nodiscard]] bool shape(std::size_t i);
  [[nodiscard]] bool leading(std::size_t i, const extent& e, std::span<const std::int64_t> has);
  [[nodiscard]] bool extent_fits(std::size_t i, int dimension, const extent& e);
  [[gnu::cold, gnu::noinline]] bool wrong_extent(std::size_t i, int dimension, const extent& e,
                                                 std::int64_t wanted);
  [[nodiscard]] const tensor_shape& shape_of(std::size_t i) const noexcept;

  // values.cpp
  [[nodiscard]] bool enumerator(std::size_t i);
  [[nodiscard]] bool types(const type_table& table);
  [[gnu::cold, gnu::noinline]] bool wrong_types(const type_table& table, bool only_given);
  [[nodiscard]] bool only(std::size_t i);
  [[nodiscard]] bool range(std::size_t i);
  [[nodiscard]] bool factor(std::size_t i);
  [[nodiscard]] std::string reason(const condition& c) const;

  [[nodiscard]] const any_tensor& tensor(std::size_t i) const noexcept {
    return value_at<any_tensor>(request_, t_.fields[i].offset);
  }
  [[nodiscard]] const std::string& name(std::size_t i) const noexcept { return t_.details[i].name; }
  [[nodiscard]] const condition& condition_of(int index) const noexcept {
    return t_.conditions[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] std::string value(std::size_t i) const;

  /// The value of a symbol, once a tensor has determined it.
  struct meaning {
    std::uint16_t from;  ///< the tensor's field
    std::uint8_t first;  ///< its dimension; of leading extents, the first of `count`
    std::uint8_t count;
    std::int64_t number;  ///< if it is a single extent
  };
  [[nodiscard]] bool knows(std::size_t symbol) const noexcept {
    return (known_ >> symbol & 1) != 0;
  }
  void learn(std::size_t symbol, const meaning& m) noexcept {
    known_ |= 1U << symbol;
    meanings_[symbol] = m;
  }
  [[nodiscard]] std::span<const std::int64_t> leading_extents(const meaning& m) const noexcept {
    return tensor(m.from).extents().subspan(m.first, m.count);
  }

  const description_table& t_;
  const void* const request_;
  std::optional<error> failure_;
  std::size_t place_ = 0;  ///< in a list, the index of the current view
  // A bit for each symbol that has a value, and, by index among the table's tensors, for each
  // tensor that has elements.
  std::uint32_t known_ = 0;
  std::uint32_t present_ = 0;
  std::uint32_t written_ = 0;
  // Only elements with their bit set are initialised: most requests have few of each.
  struct byte_span {
    const std::byte* begin;
    const std::byte* end;
  };
  std::array<meaning, description_table::most_symbols> meanings_;
  std::array<byte_span, description_table::most_tensors> reaches_;
};

}  // namespace troupe
