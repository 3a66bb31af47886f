#pragma once

#include "journal/compare.hpp"
#include "journal/footprint.hpp"

#include <troupe/core/system.hpp>
#include <troupe/device/device.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe::journal {

/// A second device that runs each request of a replay with the data that the first one has, so that
/// no difference is carried on from one request to the next.
class twin {
 public:
  /// `memory` has been told of all requests. Throws `failure` as `system::device`.
  twin(system& of, std::int32_t number, const device_config& config, const footprint& memory);

  [[nodiscard]] result<void> allocate() { return memory_.allocate(device_); }
  /// Copies what the request uses from the first device.
  [[nodiscard]] result<void> begin(const std::vector<wire::operand>& operands, device& first,
                                   const footprint& its_memory);
  /// Runs the request. \returns its error, if it failed
  [[nodiscard]] result<std::optional<error>> run(const request_type& type, any_request&& request);
  struct found {
    std::string field{};
    element_difference what{};
  };
  /// The first difference in what the request has written on both.
  [[nodiscard]] result<std::optional<found>> compare(const request_type& type, any_request& decoded,
                                                     device& first, const footprint& its_memory,
                                                     const closeness& how, std::uint64_t& elements);
  [[nodiscard]] device& on() noexcept { return device_; }

 private:
  [[nodiscard]] static result<std::vector<std::byte>> read(device& on, const footprint& memory,
                                                           std::uint8_t pool, std::uint64_t offset,
                                                           std::uint64_t bytes);

  device device_;
  footprint memory_;
};

}  // namespace troupe::journal
