#include <troupe/jit/tile.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace troupe::jit {
namespace {

constexpr std::size_t head = 4;  // rank, and the three choices
constexpr std::int64_t most_dimensions = 5;
constexpr std::int64_t most_extent = std::int64_t{1} << 32;
constexpr std::int64_t most_stride_bytes = std::int64_t{1} << 40;
constexpr std::int64_t most_box = 256;
constexpr std::int64_t most_step = 8;
constexpr std::int64_t unit_bytes = 16;

error refusal(errc code, std::string message) {
  return error{.code = code, .message = std::move(message)};
}

}  // namespace

result<void> tile::check(const any_tensor& t) const {
  const std::int64_t rank = t.rank();
  const std::int64_t element = size_of(t.type());
  if (rank < 1 || rank > most_dimensions) {
    return refusal(errc::layout_unsupported,
                   fmt::format("{} has {} dimensions, a tensor map takes 1 to {}", t.to_string(),
                               rank, most_dimensions));
  }
  if (element > 8) {
    return refusal(errc::type_mismatch,
                   fmt::format("no tensor map has elements of {}", to_string(t.type())));
  }
  if (outside == fill::nan && (!is_float(t.type()) || element < 2)) {
    return refusal(errc::type_mismatch,
                   fmt::format("{} has no NaN to fill with", to_string(t.type())));
  }
  const auto dimensions = static_cast<std::size_t>(rank);
  if (box.size() != dimensions || (!steps.empty() && steps.size() != dimensions)) {
    return refusal(errc::shape_mismatch,
                   fmt::format("the tensor has {} dimensions, box {}, steps {}", rank, box.size(),
                               steps.size()));
  }
  if (reinterpret_cast<std::uintptr_t>(t.address()) % unit_bytes != 0) {
    return refusal(
        errc::layout_unsupported,
        fmt::format("the first element does not lie at a multiple of {} bytes", unit_bytes));
  }
  for (int d = 0; d < t.rank(); ++d) {
    const auto i = static_cast<std::size_t>(d);
    const bool last = d == t.rank() - 1;
    if (t.extent(d) < 1 || t.extent(d) > most_extent) {
      return refusal(errc::layout_unsupported,
                     fmt::format("dimension {} has {} elements, 1 to 2^32 can be", d, t.extent(d)));
    }
    const std::int64_t stride = t.stride(d);
    const bool steps_well =
        stride > 0 && stride < most_stride_bytes / element && stride * element % unit_bytes == 0;
    if (last ? stride != 1 && t.extent(d) != 1 : !steps_well) {
      return refusal(errc::layout_unsupported,
                     last ? fmt::format("the last dimension has stride {}, it must be 1", stride)
                          : fmt::format("dimension {} has stride {} of {} bytes, it must be a "
                                        "multiple of {} bytes below 2^40",
                                        d, stride, element, unit_bytes));
    }
    if (box[i] < 1 || box[i] > most_box) {
      return refusal(errc::invalid_argument,
                     fmt::format("box[{}] is {}, it must be 1 to {}", d, box[i], most_box));
    }
    if (!steps.empty() && (steps[i] < 1 || steps[i] > most_step)) {
      return refusal(errc::invalid_argument,
                     fmt::format("steps[{}] is {}, it must be 1 to {}", d, steps[i], most_step));
    }
  }
  const std::int64_t inner = box.back() * element;
  if (inner % unit_bytes != 0) {
    return refusal(errc::invalid_argument,
                   fmt::format("a row of the box has {} bytes, it must be a multiple of {}", inner,
                               unit_bytes));
  }
  const std::int64_t widest = unit_bytes << static_cast<int>(in_shared_memory);
  if (in_shared_memory != swizzle::none && inner > widest) {
    return refusal(
        errc::invalid_argument,
        fmt::format("a row of the box has {} bytes, more than the swizzle's {}", inner, widest));
  }
  return {};
}

void tile::write(std::vector<std::int64_t>& to) const {
  to.push_back(static_cast<std::int64_t>(box.size()));
  to.push_back(static_cast<std::int64_t>(in_shared_memory));
  to.push_back(static_cast<std::int64_t>(in_cache));
  to.push_back(static_cast<std::int64_t>(outside));
  to.insert(to.end(), box.begin(), box.end());
  // Always as many as the box has; another number of them becomes steps that `check` refuses.
  const bool whole = steps.size() == box.size();
  for (std::size_t i = 0; i < box.size(); ++i)
    to.push_back(steps.empty() ? 1 : whole ? steps[i] : 0);
}

std::size_t tile::length(std::span<const std::int64_t> from) noexcept {
  if (from.size() < head || from[0] < 0 || from[0] > most_dimensions) return 0;
  const std::size_t all = head + 2 * static_cast<std::size_t>(from[0]);
  return all <= from.size() ? all : 0;
}

std::optional<tile> tile::read(std::span<const std::int64_t> from) {
  if (length(from) == 0) return std::nullopt;
  const auto choice = [&](std::size_t at, std::int64_t last) {
    return from[at] >= 0 && from[at] <= last;
  };
  if (!choice(1, static_cast<std::int64_t>(swizzle::bytes_128)) ||
      !choice(2, static_cast<std::int64_t>(promotion::bytes_256)) ||
      !choice(3, static_cast<std::int64_t>(fill::nan))) {
    return std::nullopt;
  }
  const auto rank = static_cast<std::size_t>(from[0]);
  const auto box = from.subspan(head, rank);
  const auto steps = from.subspan(head + rank, rank);
  return tile{.box = {box.begin(), box.end()},
              .steps = {steps.begin(), steps.end()},
              .in_shared_memory = static_cast<swizzle>(from[1]),
              .in_cache = static_cast<promotion>(from[2]),
              .outside = static_cast<fill>(from[3])};
}

}  // namespace troupe::jit
