#pragma once

#include <troupe/base/error.hpp>

#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace troupe {

/// A value or an `error`. Every function in Troupe that can fail returns one.
template <class T>
class [[nodiscard]] result {
  static_assert(!std::is_reference_v<T>, "result<T&> is not supported; use a pointer");

 public:
  using value_type = T;

  result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  result(troupe::error e) : state_(std::in_place_index<1>, std::move(e)) {}

  [[nodiscard]] bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  /// The value. Precondition: `has_value()`.
  [[nodiscard]] T& operator*() & noexcept { return *std::get_if<0>(&state_); }
  [[nodiscard]] const T& operator*() const& noexcept { return *std::get_if<0>(&state_); }
  [[nodiscard]] T&& operator*() && noexcept { return std::move(*std::get_if<0>(&state_)); }
  [[nodiscard]] T* operator->() noexcept { return std::get_if<0>(&state_); }
  [[nodiscard]] const T* operator->() const noexcept { return std::get_if<0>(&state_); }

  /// The failure. Precondition: `!has_value()`.
  [[nodiscard]] troupe::error& error() & noexcept { return *std::get_if<1>(&state_); }
  [[nodiscard]] const troupe::error& error() const& noexcept { return *std::get_if<1>(&state_); }
  [[nodiscard]] troupe::error&& error() && noexcept { return std::move(*std::get_if<1>(&state_)); }

  /// Returns the value or throws `failure`. For callers that prefer exceptions.
  T value() && {
    if (!has_value()) throw failure(std::move(error()));
    return std::move(**this);
  }

 private:
  std::variant<T, troupe::error> state_;
};

/// Success without a value, or an `error`.
template <>
class [[nodiscard]] result<void> {
 public:
  using value_type = void;

  // Not defaulted, because that would first zero the whole unused error.
  result() noexcept {}  // NOLINT(modernize-use-equals-default)
  result(troupe::error e) : error_(std::move(e)) {}

  [[nodiscard]] bool has_value() const noexcept { return !error_.has_value(); }
  explicit operator bool() const noexcept { return has_value(); }

  /// The failure. Precondition: `!has_value()`.
  [[nodiscard]] troupe::error& error() & noexcept { return *error_; }
  [[nodiscard]] const troupe::error& error() const& noexcept { return *error_; }
  [[nodiscard]] troupe::error&& error() && noexcept { return std::move(*error_); }

  void value() && {
    if (error_) throw failure(std::move(*error_));
  }

 private:
  std::optional<troupe::error> error_;
};

}  // namespace troupe
