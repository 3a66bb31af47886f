#pragma once

#include <troupe/base/result.hpp>
#include <troupe/tensor/buffer.hpp>
#include <troupe/tensor/dtype.hpp>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace troupe {

/// Largest number of dimensions.
inline constexpr int max_rank = 8;

/// Largest number of elements in a view, with an extent of 0 counted as 1; also the largest stride.
/// With this limit, sizes in bytes never overflow.
inline constexpr std::int64_t max_elements = std::int64_t{1} << 56;

/// Extents of a tensor, outermost first.
class shape {
 public:
  shape() = default;
  shape(std::initializer_list<std::int64_t> extents)
      : shape(std::span(extents.begin(), extents.size())) {}
  /// More than `max_rank` extents give an invalid shape, which allocations and views reject.
  TROUPE_EXPORT explicit shape(std::span<const std::int64_t> extents) noexcept;

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] bool valid() const noexcept { return rank_ <= max_rank; }
  [[nodiscard]] std::int64_t operator[](int i) const noexcept {
    return extents_[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] std::span<const std::int64_t> extents() const noexcept {
    return {extents_.data(), static_cast<std::size_t>(valid() ? rank_ : 0)};
  }

 private:
  std::array<std::int64_t, max_rank> extents_{};
  int rank_ = 0;
};

/// A view of a device or host buffer: element type, extents, strides (in elements, outermost
/// first) and a shared handle that keeps the buffer alive. Copying a view copies no data.
class TROUPE_EXPORT any_tensor {
 public:
  any_tensor() = default;

  /// A view of memory with another owner. Workers decode requests into such views; a device rejects
  /// them as operands (`errc::foreign_buffer`). Empty `strides` means packed row-major.
  [[nodiscard]] static any_tensor unowned(std::byte* address, dtype type, const shape& extents,
                                          std::span<const std::int64_t> strides = {},
                                          memory_space space = memory_space::device) noexcept;
  /// A packed row-major view of a whole buffer.
  [[nodiscard]] static any_tensor owned(detail::buffer_ref buffer, dtype type,
                                        const shape& extents) noexcept;

  [[nodiscard]] dtype type() const noexcept { return type_; }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] std::int64_t extent(int dimension) const noexcept {
    return extents_[static_cast<std::size_t>(dimension)];
  }
  /// In elements.
  [[nodiscard]] std::int64_t stride(int dimension) const noexcept {
    return strides_[static_cast<std::size_t>(dimension)];
  }
  [[nodiscard]] std::span<const std::int64_t> extents() const noexcept {
    return {extents_.data(), static_cast<std::size_t>(rank_)};
  }
  [[nodiscard]] std::span<const std::int64_t> strides() const noexcept {
    return {strides_.data(), static_cast<std::size_t>(rank_)};
  }
  /// Number of elements; 1 for rank 0.
  [[nodiscard]] std::int64_t count() const noexcept;
  [[nodiscard]] bool empty() const noexcept {
    for (const std::int64_t extent : extents()) {
      if (extent == 0) return true;
    }
    return false;
  }
  /// True if the elements are row-major without gaps.
  [[nodiscard]] bool packed() const noexcept;
  /// True if no two index tuples refer to the same element; required of tensors that are written.
  [[nodiscard]] bool injective() const noexcept;

  /// Address of the first element: a device address, the same in every worker.
  [[nodiscard]] std::byte* address() const noexcept { return address_; }
  /// Typed address of the first element. Precondition: `type() == dtype_of<T>`.
  template <element T>
  [[nodiscard]] T* data() const noexcept {
    return reinterpret_cast<T*>(address_);
  }
  [[nodiscard]] memory_space space() const noexcept { return space_; }
  /// True for a default-constructed view, which has no memory.
  [[nodiscard]] bool null() const noexcept { return address_ == nullptr && !buffer_; }

  /// True while its buffer is frozen (`device::freeze`).
  [[nodiscard]] bool frozen() const noexcept { return has(detail::buffer_frozen); }
  /// True once its buffer was released (`device::release`).
  [[nodiscard]] bool released() const noexcept { return has(detail::buffer_released); }

  /// First and one-past-last byte that the view can access, relative to `address()`.
  struct byte_range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  [[nodiscard]] byte_range reach() const noexcept;
  /// True if the byte ranges of the two views overlap.
  [[nodiscard]] bool overlaps(const any_tensor& other) const noexcept;
  /// True if both views contain the same elements in the same order.
  [[nodiscard]] bool same_view(const any_tensor& other) const noexcept;

  /// Swaps the last two dimensions; a view of rank below 2 is returned unchanged.
  [[nodiscard]] any_tensor transpose() const noexcept;
  /// Every `step`-th index in [begin, end) of a dimension.
  /// \errors `invalid_argument` for a dimension, range or step outside the view.
  [[nodiscard]] result<any_tensor> slice(int dimension, std::int64_t begin, std::int64_t end,
                                         std::int64_t step = 1) const;
  /// Reorders the dimensions. \errors `invalid_argument` if `order` is not a permutation.
  [[nodiscard]] result<any_tensor> permute(std::span<const int> order) const;
  [[nodiscard]] result<any_tensor> permute(std::initializer_list<int> order) const {
    return permute(std::span(order.begin(), order.size()));
  }
  /// The same packed elements with other extents.
  /// \errors `layout_unsupported` if not packed, `shape_mismatch` if the counts differ,
  /// `invalid_argument` for invalid extents.
  [[nodiscard]] result<any_tensor> reshape(const shape& extents) const;
  /// A view with any extents and strides over the same buffer, from this view's first element.
  /// \errors `invalid_argument` for a negative stride, a view that exceeds the buffer, and more
  /// than `max_elements` elements.
  [[nodiscard]] result<any_tensor> as_strided(const shape& extents,
                                              std::span<const std::int64_t> strides) const;
  [[nodiscard]] result<any_tensor> as_strided(const shape& extents,
                                              std::initializer_list<std::int64_t> strides) const {
    return as_strided(extents, std::span(strides.begin(), strides.size()));
  }

  /// `<f32>[2, 3, 4]`, with strides if not packed.
  [[nodiscard]] std::string to_string() const;

  [[nodiscard]] const detail::buffer_ref& buffer() const noexcept { return buffer_; }

 private:
  [[nodiscard]] bool has(detail::buffer_flag flag) const noexcept {
    return buffer_ && (buffer_->state.load(std::memory_order_relaxed) & flag) != 0;
  }

  detail::buffer_ref buffer_;
  std::byte* address_ = nullptr;
  dtype type_{};
  memory_space space_{};
  std::uint8_t rank_ = 0;
  std::array<std::int64_t, max_rank> extents_{};
  std::array<std::int64_t, max_rank> strides_{};
};

/// An `any_tensor` whose element type is known at compile time.
template <element T>
class tensor : public any_tensor {
 public:
  tensor() = default;
  /// Precondition: `view.type() == dtype_of<T>`.
  explicit tensor(any_tensor view) noexcept : any_tensor(std::move(view)) {}

  [[nodiscard]] T* data() const noexcept { return any_tensor::data<T>(); }
  [[nodiscard]] tensor transpose() const noexcept { return tensor(any_tensor::transpose()); }
  [[nodiscard]] result<tensor> slice(int dimension, std::int64_t begin, std::int64_t end,
                                     std::int64_t step = 1) const {
    return typed(any_tensor::slice(dimension, begin, end, step));
  }
  [[nodiscard]] result<tensor> permute(std::span<const int> order) const {
    return typed(any_tensor::permute(order));
  }
  [[nodiscard]] result<tensor> permute(std::initializer_list<int> order) const {
    return typed(any_tensor::permute(order));
  }
  [[nodiscard]] result<tensor> reshape(const shape& extents) const {
    return typed(any_tensor::reshape(extents));
  }
  [[nodiscard]] result<tensor> as_strided(const shape& extents,
                                          std::span<const std::int64_t> strides) const {
    return typed(any_tensor::as_strided(extents, strides));
  }
  [[nodiscard]] result<tensor> as_strided(const shape& extents,
                                          std::initializer_list<std::int64_t> strides) const {
    return typed(any_tensor::as_strided(extents, strides));
  }

 private:
  static result<tensor> typed(result<any_tensor> view) {
    if (!view) return std::move(view).error();
    return tensor(*std::move(view));
  }
};

}  // namespace troupe
