#pragma once

#include "libraries/dnn/cpu/lines/line_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

namespace troupe::cpu {

/// Lines that are taken together, by `flush` whenever there are many.
template <class T, class F>
class line_parts {
 public:
  explicit line_parts(F flush) : flush_(flush) {}
  ~line_parts() {
    if (count_ > 0) flush_(std::span<const line_part<T>>(all_.data(), count_));
  }
  line_parts(const line_parts&) = delete;
  line_parts& operator=(const line_parts&) = delete;
  void add(const line_part<T>& part) {
    if (count_ == all_.size()) {
      flush_(std::span<const line_part<T>>(all_));
      count_ = 0;
    }
    all_[count_++] = part;
  }

 private:
  F flush_;
  std::array<line_part<T>, 32> all_;
  std::size_t count_ = 0;
};

/// So few lines that results come of them in one go.
template <class T>
class few_parts {
 public:
  static constexpr std::int64_t most = 32;

  /// Precondition: fewer than `most` have been added.
  void add(const line_part<T>& part) noexcept { std::construct_at(first() + count_++, part); }
  [[nodiscard]] std::span<const line_part<T>> all() const noexcept {
    return {std::launder(reinterpret_cast<const line_part<T>*>(workspace_)), count_};
  }

  /// Calls `f(parts, first, n)` for pieces of `n` results, with the parts that go to all of a
  /// piece: one by one but where all parts are. Elements of parts are `step` apart, places so many
  /// bytes.
  template <class F>
  void in_pieces(std::int64_t n, std::int64_t step, std::int64_t places_bytes, F f) const {
    std::int64_t begin = 0;
    std::int64_t end = n;
    for (const line_part<T>& part : all()) {
      begin = std::max(begin, part.to);
      end = std::min(end, part.to + part.n);
    }
    if (begin >= end) begin = end = n;
    if (begin == 0 && end == n) return f(all(), begin, n);
    const auto piece = [&](std::int64_t from, std::int64_t count) {
      few_parts here;
      for (line_part<T> part : all()) {
        if (part.to > from || from + count > part.to + part.n) continue;
        part.x += (from - part.to) * step;
        if (part.places != nullptr) {
          part.places =
              static_cast<const std::byte*>(part.places) + (from - part.to) * places_bytes;
        }
        here.add(part);
      }
      f(here.all(), from, count);
    };
    for (std::int64_t i = 0; i < begin; ++i)
      piece(i, 1);
    if (begin < end) piece(begin, end - begin);
    for (std::int64_t i = end; i < n; ++i)
      piece(i, 1);
  }

 private:
  static_assert(std::is_trivially_destructible_v<line_part<T>>);
  [[nodiscard]] line_part<T>* first() noexcept {
    return reinterpret_cast<line_part<T>*>(workspace_);
  }

  // Not initialised, which would take longer than most windows.
  alignas(line_part<T>) std::byte workspace_[most * sizeof(line_part<T>)];
  std::size_t count_ = 0;
};

}  // namespace troupe::cpu
