#include "exposition/access.hpp"

#include "exposition/http/listener.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace troupe::telemetry {
namespace {

constexpr std::size_t shortest_token = 16;
constexpr std::size_t longest_token = 256;

bool is_token(std::string_view text) {
  return text.size() >= shortest_token && text.size() <= longest_token &&
         std::ranges::all_of(text, [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_' || c == '~';
         });
}

// In a time that depends on the length of `given` alone.
bool is_same(std::string_view given, std::string_view wanted) {
  std::size_t difference = given.size() ^ wanted.size();
  for (std::size_t i = 0; i < given.size(); ++i)
    difference |= static_cast<unsigned char>(given[i] ^ wanted[i % wanted.size()]);
  return difference == 0;
}

// Without the port.
std::string_view name_of(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

}  // namespace

result<access> access::make(const std::string& address, std::string token) {
  if (token.empty() && !is_loopback(address)) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("address {} can be reached by others, so it needs a token",
                                        address)};
  }
  if (!token.empty() && !is_token(token)) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("token must be {} to {} letters, digits or -._~",
                                        shortest_token, longest_token)};
  }
  access made;
  made.address_ = address.find(':') == std::string::npos ? address : "[" + address + "]";
  made.token_ = std::move(token);
  return made;
}

void access::set_port(std::uint16_t port) { cookie_ = fmt::format("troupe_{}", port); }

bool access::has_token(const http_request& r) const {
  constexpr std::string_view scheme = "Bearer ";
  if (r.authorization.starts_with(scheme) &&
      is_same(std::string_view(r.authorization).substr(scheme.size()), token_))
    return true;
  std::string_view rest = r.cookie;
  while (!rest.empty()) {
    std::string_view one = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    one.remove_prefix(std::min(one.size(), one.find_first_not_of(' ')));
    if (one.starts_with(cookie_) && one.substr(cookie_.size()).starts_with('=') &&
        is_same(one.substr(cookie_.size() + 1), token_))
      return true;
  }
  return false;
}

std::optional<http_response> access::refuse(const http_request& r) const {
  if (r.is_local) return std::nullopt;
  if (token_.empty()) {
    // A page elsewhere whose name is made to mean this machine sends that name.
    const std::string_view name = name_of(r.host);
    if (name == "localhost" || name == "127.0.0.1" || name == "[::1]" || name == address_)
      return std::nullopt;
    return refusal(403, "the Host of a request must be localhost or the address");
  }
  if (r.path == "/" && is_same(query_value(r.query, "token"), token_)) {
    // So that the token stays out of the address bar, of histories and of screenshots.
    http_response made = refusal(303, "");
    made.headers = fmt::format(
        "Location: /\r\nSet-Cookie: {}={}; HttpOnly; SameSite=Strict; Path=/\r\n", cookie_, token_);
    return made;
  }
  if (has_token(r)) return std::nullopt;
  return refusal(401, "this needs the token: Authorization: Bearer TOKEN, or /?token=TOKEN");
}

}  // namespace troupe::telemetry
