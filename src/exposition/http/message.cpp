#include "exposition/http/message.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

namespace troupe::telemetry {
namespace {

std::string_view phrase_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 303:
      return "See Other";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return "Error";
  }
}

std::string lower(std::string_view text) {
  std::string made(text);
  std::ranges::transform(made, made.begin(), [](unsigned char c) { return std::tolower(c); });
  return made;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Takes the text before `end` off `from`, and `end` with it; all of it if there is none.
std::string_view take_until(std::string_view& from, std::string_view end) {
  const std::size_t place = from.find(end);
  const std::string_view taken = from.substr(0, place);
  from.remove_prefix(place == std::string_view::npos ? from.size() : place + end.size());
  return taken;
}

}  // namespace

http_response refusal(int status, std::string_view why) {
  http_response made{.status = status, .body = fmt::format("{}\n", why)};
  if (status == 405) made.headers = "Allow: GET\r\n";
  if (status == 401) made.headers = "WWW-Authenticate: Bearer\r\n";
  return made;
}

std::variant<std::monostate, http_request, http_response> read_head(std::string_view bytes) {
  const std::size_t end = bytes.substr(0, longest_head).find("\r\n\r\n");
  if (end == std::string_view::npos) {
    if (bytes.size() < longest_head) return {};
    return refusal(431, "the head of a request has at most 8 KiB");
  }
  std::string_view head = bytes.substr(0, end);
  std::string_view line = take_until(head, "\r\n");
  const std::string_view method = take_until(line, " ");
  std::string_view target = take_until(line, " ");
  if (!line.starts_with("HTTP/1.")) return refusal(400, "not a request of HTTP/1.1");
  if (method != "GET") return refusal(405, "only GET: nothing here changes anything");
  if (!target.starts_with("/")) return refusal(400, "the target of a request begins with /");
  constexpr std::size_t longest_target = 2048;
  if (target.size() > longest_target) return refusal(414, "a target has at most 2 KiB");

  http_request made{.path = std::string(take_until(target, "?"))};
  made.query = target;
  int hosts = 0;
  while (!head.empty()) {
    std::string_view field = take_until(head, "\r\n");
    const std::string name = lower(take_until(field, ":"));
    const std::string_view value = trimmed(field);
    if (name == "host") {
      made.host = lower(value);
      ++hosts;
    } else if (name == "authorization") {
      made.authorization = value;
    } else if (name == "cookie") {
      made.cookie = value;
    } else if (name == "last-event-id") {
      made.last_event = value;
    } else if (name == "transfer-encoding" || (name == "content-length" && value != "0")) {
      return refusal(413, "a request has no body here");
    }
  }
  if (hosts > 1) return refusal(400, "a request has one Host");
  return made;
}

std::string to_bytes(const http_response& r) {
  std::string made = fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\n{}", r.status,
                                 phrase_of(r.status), r.type, r.headers);
  if (!r.goes_on) fmt::format_to(std::back_inserter(made), "Content-Length: {}\r\n", r.body.size());
  made +=
      "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
      "Referrer-Policy: no-referrer\r\nConnection: close\r\n\r\n";
  return made += r.body;
}

std::string_view query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    std::string_view value = take_until(query, "&");
    if (take_until(value, "=") == name) return value;
  }
  return {};
}

}  // namespace troupe::telemetry
