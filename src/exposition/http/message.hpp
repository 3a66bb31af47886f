#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

namespace troupe::telemetry {

/// A request of HTTP, as far as anything here depends on it.
struct http_request {
  std::string path;
  std::string query{};
  std::string host{};
  std::string authorization{};
  std::string cookie{};
  std::string last_event{};
  bool is_local = false;  ///< through the socket of this user
};

struct http_response {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body{};
  std::string headers{};  ///< further ones, each with its line's end
  bool goes_on = false;   ///< the body is the beginning of a stream of events
};

/// The longest head of a request.
constexpr std::size_t longest_head = 8192;

/// The request whose head `bytes` begin with, or the response that refuses it, or nothing: the head
/// is not whole yet.
[[nodiscard]] std::variant<std::monostate, http_request, http_response> read_head(
    std::string_view bytes);

/// As sent.
[[nodiscard]] std::string to_bytes(const http_response& r);

[[nodiscard]] http_response refusal(int status, std::string_view why);

/// The value of `name` in `a=1&b=2`; empty if there is none.
[[nodiscard]] std::string_view query_value(std::string_view query, std::string_view name);

}  // namespace troupe::telemetry
