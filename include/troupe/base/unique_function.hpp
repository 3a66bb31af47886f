#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace troupe {

template <class Signature>
class unique_function;

/// A move-only callable (C++23's `std::move_only_function`, which g++ 12 lacks).
/// Callables of up to 48 bytes that move without throwing are stored inline, without allocation.
template <class R, class... Args>
class unique_function<R(Args...)> {
 public:
  unique_function() = default;

  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, unique_function> &&
             std::is_invocable_r_v<R, std::remove_cvref_t<F>&, Args...>)
  unique_function(F&& callable) {
    using held = std::remove_cvref_t<F>;
    if constexpr (fits_inline<held>) {
      ::new (static_cast<void*>(storage_)) held(std::forward<F>(callable));
      operations_ = &inline_operations<held>;
    } else {
      using owner = std::unique_ptr<held>;
      ::new (static_cast<void*>(storage_)) owner(std::make_unique<held>(std::forward<F>(callable)));
      operations_ = &heap_operations<held>;
    }
  }

  unique_function(unique_function&& other) noexcept { take(other); }
  unique_function& operator=(unique_function&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  unique_function(const unique_function&) = delete;
  unique_function& operator=(const unique_function&) = delete;
  ~unique_function() { reset(); }

  explicit operator bool() const noexcept { return operations_ != nullptr; }

  /// Precondition: holds a callable.
  R operator()(Args... args) { return operations_->call(storage_, std::forward<Args>(args)...); }

 private:
  static constexpr std::size_t inline_bytes = 48;

  struct operations {
    R (*call)(std::byte*, Args&&...);
    void (*move)(std::byte* from, std::byte* to) noexcept;
    void (*destroy)(std::byte*) noexcept;
  };

  template <class F>
  static constexpr bool fits_inline =
      sizeof(F) <= inline_bytes && alignof(F) <= alignof(std::max_align_t) &&
      std::is_nothrow_move_constructible_v<F>;

  template <class F>
  static F& as(std::byte* storage) noexcept {
    return *std::launder(reinterpret_cast<F*>(storage));
  }

  template <class Held>
  static void relocate(std::byte* from, std::byte* to) noexcept {
    ::new (static_cast<void*>(to)) Held(std::move(as<Held>(from)));
    as<Held>(from).~Held();
  }

  template <class Held>
  static void destroy(std::byte* storage) noexcept {
    as<Held>(storage).~Held();
  }

  template <class F>
  static constexpr operations inline_operations{
      [](std::byte* s, Args&&... args) -> R { return as<F>(s)(std::forward<Args>(args)...); },
      &relocate<F>, &destroy<F>};

  template <class F>
  static constexpr operations heap_operations{
      [](std::byte* s, Args&&... args) -> R {
        return (*as<std::unique_ptr<F>>(s))(std::forward<Args>(args)...);
      },
      &relocate<std::unique_ptr<F>>, &destroy<std::unique_ptr<F>>};

  void take(unique_function& other) noexcept {
    operations_ = std::exchange(other.operations_, nullptr);
    if (operations_ != nullptr) operations_->move(other.storage_, storage_);
  }

  void reset() noexcept {
    if (operations_ != nullptr) std::exchange(operations_, nullptr)->destroy(storage_);
  }

  alignas(std::max_align_t) std::byte storage_[inline_bytes];
  const operations* operations_ = nullptr;
};

}  // namespace troupe
