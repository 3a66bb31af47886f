#pragma once

#include "backend/cuda/context/lane.hpp"
#include "backend/cuda/context/pieces.hpp"

#include <troupe/base/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace troupe::cuda {

/// What a routine works in, as it has said: memory of the device and of the host.
struct routine_bytes {
  std::size_t device = 0;
  std::size_t host = 0;
};

/// All that an executor works in, of which the parts are added first and which is then asked for
/// once. Routines run one after the other, so they share what they work in.
class workroom {
 public:
  /// The offset of a part of the device's memory.
  std::size_t add(std::int64_t bytes) noexcept { return parts_.add(bytes); }
  [[nodiscard]] pieces& parts() noexcept { return parts_; }
  void add_routine(const routine_bytes& needs) noexcept {
    routine_.device = std::max(routine_.device, needs.device);
    routine_.host = std::max(routine_.host, needs.host);
  }

  /// \errors `out_of_memory`
  [[nodiscard]] result<void> take(lane& where) {
    routine_at_ = parts_.add(static_cast<std::int64_t>(routine_.device));
    if (parts_.bytes() > 0) {
      auto memory = where.workspace(parts_.bytes());
      if (!memory) return std::move(memory).error();
      device_ = memory->data();
    }
    if (routine_.host > 0) {
      auto memory = where.host_workspace(routine_.host);
      if (!memory) return std::move(memory).error();
      host_ = memory->data();
    }
    return {};
  }

  // Valid after `take`.
  [[nodiscard]] std::byte* base() const noexcept { return device_; }
  template <class T>
  [[nodiscard]] T* at(std::size_t offset) const noexcept {
    return reinterpret_cast<T*>(device_ + offset);
  }
  [[nodiscard]] void* device() const noexcept { return device_ + routine_at_; }
  [[nodiscard]] void* host() const noexcept { return host_; }
  /// Elements in `device`, for routines that count them in 32 bits and need no more.
  template <class T>
  [[nodiscard]] int elements() const noexcept {
    constexpr std::size_t most = std::numeric_limits<int>::max();
    return static_cast<int>(std::min(routine_.device / sizeof(T), most));
  }
  [[nodiscard]] const routine_bytes& routine() const noexcept { return routine_; }

 private:
  pieces parts_;
  routine_bytes routine_;
  std::size_t routine_at_ = 0;
  std::byte* device_ = nullptr;
  std::byte* host_ = nullptr;
};

}  // namespace troupe::cuda
