#pragma once

#include <troupe/collective/reduction.hpp>
#include <troupe/request/argument_checks.hpp>
#include <troupe/request/tensor_form.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::collective {

/// Checks of lists that hold a tensor per rank for each item.
class rank_lists {
 public:
  /// Also checks that a world has filled in the part.
  rank_lists(argument_checks& to, const world_part& part);

  enum class extent_of : std::uint8_t {
    same,    ///< all tensors of an item have the same extents and strides, without gaps
    packed,  ///< they have the same extents and are packed
    any,     ///< they have the same extents
  };
  /// All tensors of a list are given, or with a `root` exactly those of that rank. Those of an item
  /// have the same type.
  rank_lists& list(std::string_view name, const std::vector<any_tensor>& all, extent_of form,
                   std::int64_t root = everywhere);
  /// Both have as many items. Those of `y` have the type of `x`, and as many elements times
  /// `y_times` as `x` has times `x_times`.
  rank_lists& together(const std::vector<any_tensor>& x, std::int64_t x_times,
                       const std::vector<any_tensor>& y, std::int64_t y_times);
  /// y has the extents of x; with `as_x` the strides, too.
  rank_lists& same_extents(const std::vector<any_tensor>& x, const std::vector<any_tensor>& y);
  rank_lists& as_x(const std::vector<any_tensor>& x, const std::vector<any_tensor>& y);
  /// One packed tensor for each rank, of any extents, all of one type.
  rank_lists& each(std::string_view name, const std::vector<any_tensor>& all);
  /// One tensor for each item, on any rank.
  rank_lists& one_each(std::string_view name, const std::vector<any_tensor>& all);
  /// No y shares an element with any x or other y; where `may_be`, it may be the x of its rank and
  /// item.
  rank_lists& apart(const std::vector<any_tensor>& x, const std::vector<any_tensor>& y,
                    bool may_be);
  rank_lists& root(std::int64_t rank);
  /// The operation exists for the types of x.
  rank_lists& combines(const std::vector<any_tensor>& x, reduction op, double factor);

  [[nodiscard]] std::int64_t ranks() const noexcept { return ranks_; }
  static constexpr std::int64_t everywhere = -1;

 private:
  rank_lists& whole_items(std::string_view name, const std::vector<any_tensor>& all);
  [[nodiscard]] std::size_t per_item() const noexcept {
    return static_cast<std::size_t>(ranks_ > 0 ? ranks_ : 1);
  }
  [[nodiscard]] static std::string at(std::string_view name, std::size_t k);

  argument_checks& to_;
  std::int64_t ranks_;
};

/// The forms of the results of all ranks that are left out: those of x, for each item of the rank
/// that `root` names or else of its own, with the first extent times `times` and divided by `by`.
[[nodiscard]] result<std::vector<tensor_form>> forms_like(
    const std::vector<any_tensor>& x, const world_part& part, std::int64_t times = 1,
    std::int64_t by = 1, std::int64_t root = rank_lists::everywhere);

/// The place of the tensor of an item that stands for those of all ranks: the first that is given.
[[nodiscard]] std::size_t first_of(const std::vector<any_tensor>& all, std::size_t item,
                                   std::size_t ranks) noexcept;

}  // namespace troupe::collective
