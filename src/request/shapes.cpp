// Extents: the numbers that symbols stand for, and whether all tensors agree.
#include "request/checker.hpp"
#include "request/description/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace troupe {
namespace {

std::string numbers(std::span<const std::int64_t> all) {
  return fmt::format("[{}]", fmt::join(all, ", "));
}

std::string_view noun_for(int rank) noexcept {
  switch (rank) {
    case 0:
      return "a single number";
    case 1:
      return "a vector";
    case 2:
      return "a matrix";
    default:
      return "a tensor";
  }
}

}  // namespace

const tensor_shape& checker::shape_of(std::size_t i) const noexcept {
  const field_details& d = t_.details[i];
  for (const auto& other : d.other_shapes) {
    if (holds(condition_of(other.where), request_)) return other.shape;
  }
  return d.shape;
}

bool checker::wrong_rank(std::size_t i, const any_tensor& x) {
  const tensor_shape& shape = shape_of(i);
  const int least = shape.least_rank;
  const int most = shape.most_rank;
  const std::string wanted = text_of(t_, true, shape.extents);
  const std::string is = fmt::format("it has rank {}: {}", x.rank(), numbers(x.extents()));
  return refuse(errc::shape_mismatch,
                least == most ? fmt::format("{} must be {} (rank {}: {}); {}", view_name(i),
                                            noun_for(least), least, wanted, is)
                              : fmt::format("{} must have rank {} to {} ({}); {}", view_name(i),
                                            least, most, wanted, is));
}

bool checker::shape(std::size_t i) {
  const any_tensor& x = tensor(i);
  if (x.null() && t_.details[i].optional) return true;
  int dimension = 0;
  const std::span<const extent> extents = shape_of(i).extents;
  for (const extent& e : extents) {
    if (!e.is_number() && !t_.symbols[static_cast<std::size_t>(e.symbol())].is_single()) {
      const int several = x.rank() - static_cast<int>(extents.size()) + 1;
      const auto has = x.extents().subspan(static_cast<std::size_t>(dimension),
                                           static_cast<std::size_t>(several));
      if (!leading(i, e, has)) return false;
      dimension += several;
    } else if (!extent_fits(i, dimension++, e)) {
      return false;
    }
  }
  return true;
}

bool checker::leading(std::size_t i, const extent& e, std::span<const std::int64_t> has) {
  const auto s = static_cast<std::size_t>(e.symbol());
  if (!knows(s)) {
    learn(s, {.from = static_cast<std::uint16_t>(i),
              .first = static_cast<std::uint8_t>(has.data() - tensor(i).extents().data()),
              .count = static_cast<std::uint8_t>(has.size()),
              .number = 0});
    return true;
  }
  const meaning& known = meanings_[s];
  const std::span<const std::int64_t> wanted = leading_extents(known);
  if (std::ranges::equal(has, wanted)) return true;
  const any_tensor& from = tensor(known.from);
  const std::string is = numbers(tensor(i).extents());
  if (shape_of(i).extents.size() == 1) {
    return refuse(errc::shape_mismatch,
                  fmt::format("{} must have the extents of {}, {}; it is {}", name(i),
                              name(known.from), numbers(from.extents()), is));
  }
  return refuse(
      errc::shape_mismatch,
      fmt::format("{} must have the {}extents {} ({}) because {} is {}; {} is {}", name(i),
                  has.data() == tensor(i).extents().data() ? "leading " : "", numbers(wanted),
                  t_.symbols[s].name, name(known.from), numbers(from.extents()), name(i), is));
}

bool checker::extent_fits(std::size_t i, int dimension, const extent& e) {
  const std::int64_t has = tensor(i).extent(dimension);
  if (e.is_number()) return has == e.plus() || wrong_extent(i, dimension, e, e.plus());
  const auto s = static_cast<std::size_t>(e.symbol());
  if (!knows(s)) {
    // Calculated extents come after all that determine symbols; if those are not given, nothing is
    // known, and so nothing is wrong.
    if (e.is_plain()) {
      learn(s, {.from = static_cast<std::uint16_t>(i),
                .first = static_cast<std::uint8_t>(dimension),
                .count = 1,
                .number = has});
    }
    return true;
  }
  const auto second = e.is_smaller() ? static_cast<std::size_t>(e.other()) : s;
  if (!knows(second)) return true;
  const std::int64_t wanted =
      e.is_plain() ? meanings_[s].number : e.value(meanings_[s].number, meanings_[second].number);
  return has == wanted || wrong_extent(i, dimension, e, wanted);
}

// "b must have 3 rows (k) because a is [2, 3]; b is [4, 5]".
bool checker::wrong_extent(std::size_t i, int dimension, const extent& e, std::int64_t wanted) {
  const any_tensor& x = tensor(i);
  const std::int64_t extent = x.extent(dimension);
  const int from_last = x.rank() - dimension;
  const layout how = t_.details[i].layout;
  const bool is_matrix = how == layout::matrix || how == layout::column_major;
  const auto counted = [&](std::string_view noun) {
    return fmt::format("{} must have {} {}{}", name(i), wanted, noun, wanted == 1 ? "" : "s");
  };
  const std::string must =
      x.rank() == 1                 ? counted("element")
      : is_matrix && from_last == 2 ? counted("row")
      : is_matrix && from_last == 1
          ? counted("column")
          : fmt::format("{} must have extent {} in dimension {}", name(i), wanted, dimension);
  if (e.is_number()) {
    return refuse(errc::shape_mismatch, fmt::format("{}; it has {}", must, extent));
  }
  const auto s = static_cast<std::size_t>(e.symbol());
  const meaning& known = meanings_[s];
  const std::string& symbol = t_.symbols[s].name;
  const std::string which = e.is_plain() || e.is_smaller()
                                ? text_of(t_, e)
                                : fmt::format("{}, {} = {}", text_of(t_, e), symbol, known.number);
  return refuse(errc::shape_mismatch,
                fmt::format("{} ({}) because {} is {}; {} is {}", must, which, name(known.from),
                            numbers(tensor(known.from).extents()), name(i), numbers(x.extents())));
}

}  // namespace troupe
