#pragma once

#include "exposition/http/message.hpp"

#include <troupe/base/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::telemetry {

/// Who may see what.
class access {
 public:
  /// \errors as `serve`
  [[nodiscard]] static result<access> make(const std::string& address, std::string token);
  /// The cookie's name depends on the port, because browsers send one to all ports.
  void set_port(std::uint16_t port);

  /// The response to a request that may see nothing, or that must go elsewhere first.
  [[nodiscard]] std::optional<http_response> refuse(const http_request& r) const;
  /// Whether the reasons of health may be told; the status is for all.
  [[nodiscard]] bool tells_reasons(const http_request& r) const { return !refuse(r); }
  [[nodiscard]] const std::string& token() const noexcept { return token_; }

 private:
  [[nodiscard]] bool has_token(const http_request& r) const;

  std::string address_;
  std::string token_;
  std::string cookie_;
};

}  // namespace troupe::telemetry
