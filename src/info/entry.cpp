#include "info/entry.hpp"

#include <fmt/format.h>

#include <charconv>

namespace troupe::info {
namespace {

std::string quoted(std::string_view text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') made += '\\';
    if (static_cast<unsigned char>(c) < ' ') {
      made += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      made += c;
    }
  }
  return made + '"';
}

// Preceded by its length.
void put(std::string& to, std::string_view text) {
  to += fmt::format("{} ", text.size());
  to += text;
}

// The bytes are complete or empty.
std::string_view take(std::string_view& from) {
  std::size_t length = 0;
  const auto [rest, failed] = std::from_chars(from.data(), from.data() + from.size(), length);
  const auto before = static_cast<std::size_t>(rest - from.data()) + 1;
  if (failed != std::errc() || before > from.size() || length > from.size() - before) {
    from = {};
    return {};
  }
  const std::string_view text = from.substr(before, length);
  from.remove_prefix(before + length);
  return text;
}

}  // namespace

entry& entry::fact(std::string_view what, std::string_view value) {
  facts.emplace_back(what, quoted(value));
  return *this;
}
entry& entry::fact(std::string_view what, std::uint64_t value) {
  facts.emplace_back(what, fmt::format("{}", value));
  return *this;
}
entry& entry::fact(std::string_view what, double value) {
  facts.emplace_back(what, fmt::format("{}", value));
  return *this;
}
entry& entry::fact(std::string_view what, bool value) {
  facts.emplace_back(what, value ? "true" : "false");
  return *this;
}

std::string as_text(const section& s) {
  std::string made = s.title.empty() ? "" : fmt::format("\n{}\n", s.title);
  for (const entry& one : s.entries) {
    made += fmt::format("  {:<11} {}\n", one.name, one.text);
    if (!one.remedy.empty()) made += fmt::format("              -> {}\n", one.remedy);
  }
  return made;
}

std::string as_json(const section& s) {
  std::string made = fmt::format("  {}: [", quoted(s.key));
  for (const entry& one : s.entries) {
    made += &one == s.entries.data() ? "\n" : ",\n";
    made += fmt::format(R"(    {{"name": {}, "text": {})", quoted(one.name), quoted(one.text));
    for (const auto& [name, value] : one.facts)
      made += fmt::format(", {}: {}", quoted(name), value);
    if (!one.remedy.empty()) made += fmt::format(", \"remedy\": {}", quoted(one.remedy));
    made += "}";
  }
  return made + (s.entries.empty() ? "]" : "\n  ]");
}

std::string encode(const std::vector<entry>& entries) {
  std::string bytes;
  for (const entry& one : entries) {
    put(bytes, one.name);
    put(bytes, one.text);
    put(bytes, one.remedy);
    put(bytes, std::to_string(one.facts.size()));
    for (const auto& [name, value] : one.facts) {
      put(bytes, name);
      put(bytes, value);
    }
  }
  return bytes;
}

std::vector<entry> decode(std::string_view bytes) {
  std::vector<entry> entries;
  while (!bytes.empty()) {
    entry one;
    one.name = take(bytes);
    one.text = take(bytes);
    one.remedy = take(bytes);
    const std::string_view count = take(bytes);
    std::size_t facts = 0;
    std::from_chars(count.data(), count.data() + count.size(), facts);
    for (std::size_t i = 0; i < facts && !bytes.empty(); ++i) {
      const std::string_view name = take(bytes);
      one.facts.emplace_back(name, take(bytes));
    }
    entries.push_back(std::move(one));
  }
  return entries;
}

}  // namespace troupe::info
