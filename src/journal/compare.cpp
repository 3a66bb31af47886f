#include "journal/compare.hpp"

#include <troupe/tensor/scalar.hpp>
#include <troupe/tensor/small_floats.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstring>

namespace troupe::journal {
namespace {

template <class T>
T value_at(const std::byte* at) noexcept {
  T value;
  std::memcpy(static_cast<void*>(&value), at, sizeof(T));
  return value;
}

/// Calls `use` with an object of the element's C++ type.
template <class Use>
auto with_type(dtype type, Use use) {
  switch (type) {
    case dtype::f64:
      return use(double{});
    case dtype::f32:
      return use(float{});
    case dtype::f16:
      return use(f16{});
    case dtype::bf16:
      return use(bf16{});
    case dtype::e4m3:
      return use(e4m3{});
    case dtype::e5m2:
      return use(e5m2{});
    case dtype::c64:
      return use(std::complex<float>{});
    case dtype::c128:
      return use(std::complex<double>{});
    case dtype::i8:
      return use(std::int8_t{});
    case dtype::u8:
    case dtype::boolean:
      return use(std::uint8_t{});
    case dtype::i16:
      return use(std::int16_t{});
    case dtype::u16:
      return use(std::uint16_t{});
    case dtype::i32:
      return use(std::int32_t{});
    case dtype::u32:
      return use(std::uint32_t{});
    case dtype::i64:
      return use(std::int64_t{});
    case dtype::u64:
      return use(std::uint64_t{});
  }
  return use(std::uint8_t{});
}

bool has_tolerance(dtype type) noexcept { return is_float(type) || is_complex(type); }

double tolerance_of(dtype type) noexcept {
  switch (type) {
    case dtype::f64:
    case dtype::c128:
      return 1e-10;
    case dtype::f32:
    case dtype::c64:
      return 1e-4;
    case dtype::f16:
      return 1e-2;
    case dtype::bf16:
      return 5e-2;
    case dtype::e4m3:
    case dtype::e5m2:
      return 0.25;
    default:
      return 0;
  }
}

std::complex<double> number_at(dtype type, const std::byte* at) {
  return with_type(type, [at](auto like) -> std::complex<double> {
    using T = decltype(like);
    const T value = value_at<T>(at);
    if constexpr (std::is_same_v<T, std::complex<float>> ||
                  std::is_same_v<T, std::complex<double>>) {
      return {static_cast<double>(value.real()), static_cast<double>(value.imag())};
    } else if constexpr (std::is_arithmetic_v<T>) {
      return static_cast<double>(value);
    } else {
      return static_cast<double>(static_cast<float>(value));
    }
  });
}

std::string text_at(dtype type, const std::byte* at) {
  if (is_integer(type) || type == dtype::boolean) {
    return with_type(type, [at](auto like) -> std::string {
      using T = decltype(like);
      if constexpr (std::is_integral_v<T>) {
        return fmt::format("{}", +value_at<T>(at));
      } else {
        return {};
      }
    });
  }
  const std::complex<double> value = number_at(type, at);
  if (is_complex(type)) return fmt::format("{:.17g}{:+.17g}i", value.real(), value.imag());
  return fmt::format("{:.17g}", value.real());
}

bool is_near(double a, double b, double most) noexcept {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::abs(a - b) <= most;
}

/// The byte offsets of a view's elements, from its first byte, in row-major order.
class element_walk {
 public:
  explicit element_walk(const any_tensor& view) noexcept
      : view_(view), left_(view.count()), at_(-view.reach().begin) {}

  [[nodiscard]] bool ended() const noexcept { return left_ <= 0; }
  [[nodiscard]] std::int64_t offset() const noexcept { return at_; }
  void step() noexcept {
    --left_;
    const std::int64_t size = size_of(view_.type());
    for (int d = view_.rank() - 1; d >= 0; --d) {
      std::int64_t& index = index_[static_cast<std::size_t>(d)];
      at_ += view_.stride(d) * size;
      if (++index < view_.extent(d)) return;
      at_ -= index * view_.stride(d) * size;
      index = 0;
    }
  }

 private:
  const any_tensor& view_;
  std::int64_t left_;
  std::int64_t at_;
  std::array<std::int64_t, max_rank> index_{};
};

// The largest number of a tensor, in which differences are measured.
double scale_of(const any_tensor& view, std::span<const std::byte> bytes) {
  double largest = 0;
  for (element_walk at(view); !at.ended(); at.step()) {
    const double size = std::abs(number_at(view.type(), bytes.data() + at.offset()));
    if (std::isfinite(size)) largest = std::max(largest, size);
  }
  return largest;
}

}  // namespace

std::optional<element_difference> first_difference(const any_tensor& view,
                                                   std::span<const std::byte> recorded,
                                                   std::span<const std::byte> replayed,
                                                   const closeness& how) {
  if (recorded.size() == replayed.size() &&
      std::memcmp(recorded.data(), replayed.data(), recorded.size()) == 0) {
    return std::nullopt;
  }
  const auto size = static_cast<std::size_t>(size_of(view.type()));
  std::optional<double> most;
  std::int64_t number = 0;
  for (element_walk at(view); !at.ended(); at.step(), ++number) {
    const std::byte* const a = recorded.data() + at.offset();
    const std::byte* const b = replayed.data() + at.offset();
    if (std::memcmp(a, b, size) == 0) continue;
    if (!how.exact && has_tolerance(view.type())) {
      if (!most) {
        most = how.tolerance.value_or(tolerance_of(view.type())) * scale_of(view, recorded);
      }
      const auto x = number_at(view.type(), a);
      const auto y = number_at(view.type(), b);
      if (is_near(x.real(), y.real(), *most) && is_near(x.imag(), y.imag(), *most)) continue;
    }
    return element_difference{.element = number,
                              .recorded = text_at(view.type(), a),
                              .replayed = text_at(view.type(), b)};
  }
  return std::nullopt;
}

std::optional<element_difference> reply_difference(const request_type& type,
                                                   std::span<const std::byte> recorded,
                                                   std::span<const std::byte> replayed,
                                                   const closeness& how) {
  if (std::ranges::equal(recorded, replayed)) return std::nullopt;
  const auto different = [](std::string a, std::string b) {
    return element_difference{.element = -1, .recorded = std::move(a), .replayed = std::move(b)};
  };
  if (recorded.size() != replayed.size()) {
    return different(fmt::format("{} bytes", recorded.size()),
                     fmt::format("{} bytes", replayed.size()));
  }
  double most = how.tolerance.value_or(tolerance_of(dtype::f32));
  if (type.reply_name == "scalar" && recorded.size() == sizeof(scalar)) {
    const auto a = value_at<scalar>(recorded.data());
    const auto b = value_at<scalar>(replayed.data());
    if (a == b) return std::nullopt;
    const auto x = a.as<std::complex<double>>();
    const auto y = b.as<std::complex<double>>();
    most *= std::max(1.0, std::abs(x));
    if (!how.exact && is_near(x.real(), y.real(), most) && is_near(x.imag(), y.imag(), most)) {
      return std::nullopt;
    }
    return different(fmt::format("{:.17g}{:+.17g}i", x.real(), x.imag()),
                     fmt::format("{:.17g}{:+.17g}i", y.real(), y.imag()));
  }
  if (type.reply_name == "real" && recorded.size() == sizeof(double)) {
    const auto a = value_at<double>(recorded.data());
    const auto b = value_at<double>(replayed.data());
    if (!how.exact && is_near(a, b, most * std::max(1.0, std::abs(a)))) return std::nullopt;
    return different(fmt::format("{:.17g}", a), fmt::format("{:.17g}", b));
  }
  // Elsewhere only the same hardware answers with the same bytes, as for the size of a workspace.
  if (!how.exact && type.reply_name != "integer" && type.reply_name != "bool") return std::nullopt;
  const auto text = [](std::span<const std::byte> bytes) {
    std::string hex;
    for (const std::byte one : bytes.first(std::min<std::size_t>(bytes.size(), 32)))
      hex += fmt::format("{:02x}", static_cast<unsigned>(one));
    return hex;
  };
  return different(text(recorded), text(replayed));
}

}  // namespace troupe::journal
