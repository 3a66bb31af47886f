#pragma once

#include "device/mailbox/record.hpp"
#include "wire/layout.hpp"

#include <troupe/device/request_tracer.hpp>

#include <chrono>
#include <cstdint>

namespace troupe {

/// The times of the request that is being answered, if the device is traced.
class ended_times {
 public:
  /// `on_device`: its memory is an accelerator's.
  explicit ended_times(bool on_device) noexcept : on_device_(on_device) {}

  /// Reads the stamps of a request in the worker's segment, which may be null.
  void note(wire::worker_header* segment, std::uint32_t capacity, std::uint16_t slot,
            std::uint64_t ticket) noexcept;
  [[nodiscard]] request_times of_request(std::chrono::steady_clock::time_point sent) const noexcept;

 private:
  const bool on_device_;
  wire::request_stamps stamps_;
  std::chrono::steady_clock::time_point seen_;
};

}  // namespace troupe
