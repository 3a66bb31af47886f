#include <troupe/tensor/tensor.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

namespace troupe {
namespace {

error invalid(std::string message) {
  return error{.code = errc::invalid_argument, .message = std::move(message)};
}

// Their product, counting 0 as 1; nothing if one is negative or the product is too large.
std::optional<std::int64_t> elements_named(std::span<const std::int64_t> extents) noexcept {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents) {
    if (extent < 0 || (extent > 0 && product > max_elements / extent)) return std::nullopt;
    product *= std::max<std::int64_t>(extent, 1);
  }
  return product;
}

std::string extents_refused(std::string_view function, const shape& extents) {
  static_assert(max_elements == std::int64_t{1} << 56);
  return fmt::format(
      "{}: extents must be nonnegative and name at most 2^56 elements; they are [{}]", function,
      fmt::join(extents.extents(), ", "));
}

}  // namespace

shape::shape(std::span<const std::int64_t> extents) noexcept
    : rank_(static_cast<int>(std::min<std::size_t>(extents.size(), max_rank + 1))) {
  if (valid()) std::copy(extents.begin(), extents.end(), extents_.begin());
}

any_tensor any_tensor::unowned(std::byte* address, dtype type, const shape& extents,
                               std::span<const std::int64_t> strides, memory_space space) noexcept {
  any_tensor view;
  view.address_ = address;
  view.type_ = type;
  view.space_ = space;
  view.rank_ = static_cast<std::uint8_t>(extents.extents().size());
  std::copy(extents.extents().begin(), extents.extents().end(), view.extents_.begin());
  if (strides.empty()) {
    std::int64_t step = 1;
    for (int i = view.rank_ - 1; i >= 0; --i) {
      view.strides_[static_cast<std::size_t>(i)] = step;
      step *= std::max<std::int64_t>(view.extent(i), 1);
    }
  } else {
    std::copy_n(strides.begin(), view.rank_, view.strides_.begin());
  }
  return view;
}

any_tensor any_tensor::owned(detail::buffer_ref buffer, dtype type, const shape& extents) noexcept {
  any_tensor view = unowned(buffer->address, type, extents);
  view.space_ = buffer->space;
  view.buffer_ = std::move(buffer);
  return view;
}

std::int64_t any_tensor::count() const noexcept {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents())
    product *= extent;
  return product;
}

bool any_tensor::packed() const noexcept {
  std::int64_t step = 1;
  for (int i = rank_ - 1; i >= 0; --i) {
    if (extent(i) == 0) return true;
    if (extent(i) != 1 && stride(i) != step) return false;
    // The extents may be unchecked, for example those of a request that is printed.
    if (__builtin_mul_overflow(step, extent(i), &step)) return false;
  }
  return true;
}

bool any_tensor::injective() const noexcept {
  if (packed()) return true;  // most are
  // Sorted by stride, each dimension must step over everything that the smaller ones reach.
  std::array<std::pair<std::int64_t, std::int64_t>, max_rank> dimensions;  // stride, extent
  std::size_t used = 0;
  for (int i = 0; i < rank_; ++i) {
    if (extent(i) == 0) return true;
    if (extent(i) == 1) continue;
    std::size_t place = used++;
    for (; place > 0 && dimensions[place - 1].first > stride(i); --place) {
      dimensions[place] = dimensions[place - 1];
    }
    dimensions[place] = {stride(i), extent(i)};
  }
  std::int64_t reached = 0;
  for (std::size_t i = 0; i < used; ++i) {
    if (dimensions[i].first <= reached) return false;
    reached += dimensions[i].first * (dimensions[i].second - 1);
  }
  return true;
}

any_tensor::byte_range any_tensor::reach() const noexcept {
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (int i = 0; i < rank_; ++i) {
    if (extent(i) == 0) return {};
    const std::int64_t span = stride(i) * (extent(i) - 1);
    (span < 0 ? low : high) += span;
  }
  return {low * size_of(type_), (high + 1) * size_of(type_)};
}

bool any_tensor::overlaps(const any_tensor& other) const noexcept {
  if (null() || other.null()) return false;
  const byte_range mine = reach();
  const byte_range theirs = other.reach();
  if (mine.begin == mine.end || theirs.begin == theirs.end) return false;
  return address_ + mine.begin < other.address_ + theirs.end &&
         other.address_ + theirs.begin < address_ + mine.end;
}

bool any_tensor::same_view(const any_tensor& other) const noexcept {
  return address_ == other.address_ && type_ == other.type_ &&
         std::ranges::equal(extents(), other.extents()) &&
         std::ranges::equal(strides(), other.strides());
}

any_tensor any_tensor::transpose() const noexcept {
  any_tensor view = *this;
  if (rank_ >= 2) {
    const std::size_t last = rank_ - 1u;
    std::swap(view.extents_[last], view.extents_[last - 1]);
    std::swap(view.strides_[last], view.strides_[last - 1]);
  }
  return view;
}

result<any_tensor> any_tensor::slice(int dimension, std::int64_t begin, std::int64_t end,
                                     std::int64_t step) const {
  if (dimension < 0 || dimension >= rank_) {
    return invalid(
        rank_ == 0
            ? fmt::format("slice: a tensor of rank 0 has no dimensions; dimension is {}", dimension)
            : fmt::format("slice: dimension must be 0 to {}; it is {}", rank_ - 1, dimension));
  }
  if (begin < 0 || end < begin || end > extent(dimension) || step < 1) {
    return invalid(fmt::format(
        "slice: 0 <= begin <= end <= {} and step >= 1 must hold; begin is {}, end {}, step {}",
        extent(dimension), begin, end, step));
  }
  any_tensor view = *this;
  const auto d = static_cast<std::size_t>(dimension);
  view.extents_[d] = end == begin ? 0 : (end - begin - 1) / step + 1;
  // The step of a single index is never used, and its product might overflow.
  if (view.extents_[d] > 1) view.strides_[d] = stride(dimension) * step;
  if (view.extents_[d] > 0) view.address_ += begin * stride(dimension) * size_of(type_);
  return view;
}

result<any_tensor> any_tensor::permute(std::span<const int> order) const {
  std::array<bool, max_rank> seen{};
  bool good = order.size() == rank_;
  for (std::size_t i = 0; good && i < order.size(); ++i) {
    good = order[i] >= 0 && order[i] < rank_ && !seen[static_cast<std::size_t>(order[i])];
    if (good) seen[static_cast<std::size_t>(order[i])] = true;
  }
  if (!good) {
    return invalid(fmt::format("[{}] is no permutation of the dimensions of {}",
                               fmt::join(order, ", "), to_string()));
  }
  any_tensor view = *this;
  for (std::size_t i = 0; i < order.size(); ++i) {
    view.extents_[i] = extent(order[i]);
    view.strides_[i] = stride(order[i]);
  }
  return view;
}

result<any_tensor> any_tensor::reshape(const shape& extents) const {
  if (!extents.valid()) return invalid(fmt::format("reshape: rank must be at most {}", max_rank));
  if (!packed()) {
    return error{
        .code = errc::layout_unsupported,
        .message = fmt::format("reshape: the tensor must be packed; it is {}", to_string())};
  }
  if (!elements_named(extents.extents())) {
    return invalid(extents_refused("reshape", extents));
  }
  any_tensor view = unowned(address_, type_, extents);
  if (view.count() != count()) {
    return error{.code = errc::shape_mismatch,
                 .message = fmt::format(
                     "reshape: the element counts must be equal; {} has {}, [{}] has {}",
                     to_string(), count(), fmt::join(extents.extents(), ", "), view.count())};
  }
  view.space_ = space_;
  view.buffer_ = buffer_;
  return view;
}

result<any_tensor> any_tensor::as_strided(const shape& extents,
                                          std::span<const std::int64_t> strides) const {
  if (!extents.valid())
    return invalid(fmt::format("as_strided: rank must be at most {}", max_rank));
  if (strides.size() != extents.extents().size()) {
    return invalid(fmt::format("as_strided: one stride per extent; there are {} for [{}]",
                               strides.size(), fmt::join(extents.extents(), ", ")));
  }
  if (!elements_named(extents.extents())) {
    return invalid(extents_refused("as_strided", extents));
  }
  const std::uint64_t first = buffer_ ? static_cast<std::uint64_t>(address_ - buffer_->address) : 0;
  const std::uint64_t room =
      buffer_ ? buffer_->bytes - first : static_cast<std::uint64_t>(reach().end);
  std::uint64_t last = 0;  // in elements; 128-bit products so that no stride can wrap around
  bool no_elements = false;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    const std::int64_t extent = extents.extents()[i];
    if (strides[i] < 0) {
      return invalid(
          fmt::format("as_strided: strides must not be negative; stride {} is {}", i, strides[i]));
    }
    no_elements = no_elements || extent == 0;
    const auto step = static_cast<unsigned __int128>(strides[i]) *
                          static_cast<unsigned __int128>(extent > 0 ? extent - 1 : 0) +
                      last;
    if (step > static_cast<std::uint64_t>(max_elements)) {
      return invalid(
          fmt::format("as_strided: the view must span at most 2^56 elements; strides are [{}]",
                      fmt::join(strides, ", ")));
    }
    last = static_cast<std::uint64_t>(step);
  }
  if (!no_elements && (last + 1) * static_cast<std::uint64_t>(size_of(type_)) > room) {
    return invalid(
        fmt::format("as_strided: the view must lie in the tensor's memory; [{}] with "
                    "strides [{}] needs {} bytes, there are {}",
                    fmt::join(extents.extents(), ", "), fmt::join(strides, ", "),
                    (last + 1) * static_cast<std::uint64_t>(size_of(type_)), room));
  }
  any_tensor view = unowned(address_, type_, extents, strides);
  view.space_ = space_;
  view.buffer_ = buffer_;
  return view;
}

std::string any_tensor::to_string() const {
  std::string text = fmt::format("<{}>[{}]", troupe::to_string(type_), fmt::join(extents(), ", "));
  if (!packed()) text += fmt::format(" strides [{}]", fmt::join(strides(), ", "));
  return text;
}

}  // namespace troupe
