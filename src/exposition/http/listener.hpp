#pragma once

#include "os/unique_fd.hpp"

#include <troupe/base/result.hpp>

#include <cstdint>
#include <string>

namespace troupe::telemetry {

/// A socket that listens.
struct listener {
  os::unique_fd socket;
  std::uint16_t port = 0;
  std::string path{};  ///< if it lies in the file system; removed at the end
};

/// True for an address that only programs on this machine reach.
[[nodiscard]] bool is_loopback(const std::string& address);

/// \errors `invalid_argument` if the address is not numeric; `system_error`
[[nodiscard]] result<listener> listen_at(const std::string& address, std::uint16_t port);
/// At the place of this process (`serve_options::socket`). Sockets that ended processes have left
/// there are removed. \errors `system_error`
[[nodiscard]] result<listener> listen_for_user();

}  // namespace troupe::telemetry
