#pragma once

#include <troupe/fft/complex_transforms.hpp>
#include <troupe/fft/real_transforms.hpp>
#include <troupe/tensor/tensor.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <type_traits>

/// The layout of a transform in memory, without addresses. Validation and the backends share it, so
/// that every accepted request is one that they can execute.
namespace troupe::fft {

enum class kind : std::uint8_t { c2c, r2c, c2r };

[[nodiscard]] constexpr bool is_half(dtype type) noexcept {
  return type == dtype::f16 || type == dtype::bf16;
}
/// The real type of the same precision.
[[nodiscard]] constexpr dtype real_of(dtype type) noexcept {
  if (type == dtype::c64) return dtype::f32;
  if (type == dtype::c128) return dtype::f64;
  return type;
}
/// The type of one number that a transform of f32 or f64 reads or writes.
[[nodiscard]] constexpr dtype number_type(dtype precision, bool complex) noexcept {
  if (!complex) return precision;
  return precision == dtype::f64 ? dtype::c128 : dtype::c64;
}
/// True where a request has this function.
[[nodiscard]] inline bool given(const elementwise::function& f) noexcept {
  return f != elementwise::function{};
}
/// Complex numbers of which each is two elements.
[[nodiscard]] inline bool in_pairs(const any_tensor& t, bool complex) noexcept {
  return complex && is_half(t.type());
}
/// Dimensions that count numbers; the pairs of complex halves have one more.
[[nodiscard]] inline int number_rank(const any_tensor& t, bool complex) noexcept {
  return in_pairs(t, complex) ? t.rank() - 1 : t.rank();
}
/// In numbers, real or complex.
[[nodiscard]] inline std::int64_t number_stride(const any_tensor& t, bool complex,
                                                int dimension) noexcept {
  return in_pairs(t, complex) ? t.stride(dimension) / 2 : t.stride(dimension);
}
/// Bytes of a number, real or complex.
[[nodiscard]] constexpr std::int64_t number_bytes(dtype precision, bool complex) noexcept {
  return size_of(precision) * (complex ? 2 : 1);
}

/// One dimension, in both operands; strides in numbers of that operand, real or complex.
struct loop {
  std::int64_t n = 1;  ///< for a transformed one the length of the transform
  std::int64_t in = 1;
  std::int64_t out = 1;
};

/// The parameters of a valid request.
struct transform {
  fft::kind kind = kind::c2c;
  dtype precision = dtype::f32;  ///< f64 f32 f16 bf16
  fft::direction direction = direction::forward;
  std::array<loop, 3> axes{};  ///< outermost first; of real transforms the last one is halved
  int rank = 1;
  /// Dimensions that count transforms, in the order of out's strides, outermost first. Those of
  /// extent 1 are left out, neighbours that both operands step through without a gap are one.
  std::array<loop, max_rank> batch{};
  int batches = 0;
  bool empty = false;  ///< there is no transform
  double factor = 1;

  [[nodiscard]] bool in_is_complex() const noexcept { return kind != kind::r2c; }
  [[nodiscard]] bool out_is_complex() const noexcept { return kind != kind::c2r; }
  /// Numbers along axis `d` of a real or a complex operand.
  [[nodiscard]] std::int64_t extent(int d, bool complex) const noexcept {
    const std::int64_t n = axes[static_cast<std::size_t>(d)].n;
    return complex && kind != kind::c2c && d == rank - 1 ? n / 2 + 1 : n;
  }
};

namespace detail {

/// Puts a dimension where out's strides want it, the widest first.
template <std::size_t N>
void insert_sorted(std::array<loop, N>& loops, int& used, const loop& added) noexcept {
  auto place = static_cast<std::size_t>(used++);
  for (; place > 0 && loops[place - 1].out < added.out; --place)
    loops[place] = loops[place - 1];
  loops[place] = added;
}

inline void merge_neighbours(transform& t) noexcept {
  int last = 0;
  for (int d = 1; d < t.batches; ++d) {
    loop& outer = t.batch[static_cast<std::size_t>(last)];
    const loop& inner = t.batch[static_cast<std::size_t>(d)];
    if (outer.in == inner.in * inner.n && outer.out == inner.out * inner.n) {
      outer = {outer.n * inner.n, inner.in, inner.out};
    } else {
      t.batch[static_cast<std::size_t>(++last)] = inner;
    }
  }
  if (t.batches > 0) t.batches = last + 1;
}

}  // namespace detail

/// The transform from `in` to `out`, views as the requests take them; `like` says all that the
/// views do not.
[[nodiscard]] inline transform lay_out(transform like, const any_tensor& in,
                                       const any_tensor& out) noexcept {
  const bool from_complex = like.in_is_complex();
  const bool to_complex = like.out_is_complex();
  const any_tensor& lengths = from_complex && !to_complex ? out : in;
  const int dimensions = number_rank(in, from_complex);
  const int first = dimensions - like.rank;
  like.batches = 0;
  like.empty = false;
  int placed = 0;
  for (int d = 0; d < dimensions; ++d) {
    const loop one{lengths.extent(d), number_stride(in, from_complex, d),
                   number_stride(out, to_complex, d)};
    if (d >= first) {
      // The axes of a sum may be taken in any order, but the one that is halved stays.
      const bool halved = like.kind != kind::c2c && d == dimensions - 1;
      if (halved) {
        like.axes[static_cast<std::size_t>(placed)] = one;
      } else {
        detail::insert_sorted(like.axes, placed, one);
      }
      continue;
    }
    if (one.n == 0) like.empty = true;
    if (one.n > 1) detail::insert_sorted(like.batch, like.batches, one);
  }
  detail::merge_neighbours(like);
  return like;
}

/// The real type that a valid request computes in.
template <class Request>
[[nodiscard]] dtype precision_of(const Request& r) noexcept {
  if (!given(r.load)) return real_of(r.in.type());
  if (!given(r.store)) return real_of(r.out.type());
  return r.precision == precision::f64 ? dtype::f64 : dtype::f32;
}

/// Numbers side by side, row-major, as many as `like` has elements.
[[nodiscard]] inline any_tensor packed_numbers(dtype type, const any_tensor& like,
                                               std::byte* at) noexcept {
  return any_tensor::unowned(at, type, shape(like.extents()));
}

template <class Request>
[[nodiscard]] transform transform_of(const Request& r) noexcept {
  transform t;
  t.precision = precision_of(r);
  t.rank = static_cast<int>(r.rank);
  if constexpr (requires { r.direction; }) {
    t.direction = r.direction;
  } else {
    t.kind = std::is_same_v<Request, r2c> ? kind::r2c : kind::c2r;
    t.direction = t.kind == kind::r2c ? direction::forward : direction::inverse;
  }
  // Operands of a function are elsewhere during the transform.
  const auto transformed = [&](const elementwise::function& f, const any_tensor& view,
                               bool complex) {
    return given(f) ? packed_numbers(number_type(t.precision, complex), view, nullptr) : view;
  };
  t = lay_out(t, transformed(r.load, r.in, t.in_is_complex()),
              transformed(r.store, r.out, t.out_is_complex()));
  double numbers = 1;
  for (int d = 0; d < t.rank; ++d)
    numbers *= static_cast<double>(t.axes[static_cast<std::size_t>(d)].n);
  if (r.scale == normalization::by_n) t.factor = 1 / numbers;
  if (r.scale == normalization::ortho) t.factor = 1 / std::sqrt(numbers);
  return t;
}

/// True if a valid request works in place. Reads only fields that an invalid request has as well.
[[nodiscard]] inline bool in_place(const any_tensor& in, const any_tensor& out) noexcept {
  return in.address() == out.address();
}

}  // namespace troupe::fft
