#include "info/commands/replay.hpp"

#include <troupe/journal/replay.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>
#include <string>

namespace troupe::info {
namespace {

constexpr int is_unusable = 2;

int refuse_replay(std::string_view why) {
  fmt::print(stderr, "troupe replay: {}\n", why);
  return is_unusable;
}

template <class T>
bool read_number(std::string_view text, T& to) {
  const char* const end = text.data() + text.size();
  const auto [at, failed] = std::from_chars(text.data(), end, to);
  return failed == std::errc{} && at == end;
}

std::optional<backend_kind> backend_named(std::string_view name) {
  if (name == "cpu") return backend_kind::cpu;
  if (name == "cuda") return backend_kind::cuda;
  return std::nullopt;
}

// False for a value that the option cannot have.
bool set_option(replay_options& o, std::string_view name, std::string_view value) {
  if (name == "--from") return read_number(value, o.from);
  if (name == "--to") return read_number(value, o.to);
  if (name == "--of") return read_number(value, o.device.emplace());
  if (name == "--tolerance") return read_number(value, o.tolerance.emplace());
  if (name == "--plugin") {
    o.on.plugins.emplace_back(value);
    return true;
  }
  if (name == "--environment") {
    if (value.find('=') == std::string_view::npos || value.starts_with('=')) return false;
    o.environment.emplace_back(value);
    return true;
  }
  const auto backend = backend_named(value);
  if (!backend) return false;
  if (name == "--device") o.on.backend = *backend;
  if (name == "--against") o.against = backend;
  return true;
}

}  // namespace

int replay_journal(const std::vector<std::string_view>& words,
                   const std::vector<std::string_view>& options,
                   const std::vector<std::pair<std::string_view, std::string_view>>& values) {
  if (words.empty()) return refuse_replay("which journal? Give its file");
  const auto has = [&](std::string_view option) {
    return std::ranges::find(options, option) != options.end();
  };
  replay_options how{.exact = has("--exact"),
                     .stop_at_difference = has("--stop-at-difference"),
                     .over_gaps = has("--over-gaps")};
  for (const auto& [name, value] : values) {
    if (!set_option(how, name, value)) {
      return refuse_replay(fmt::format("{} cannot be {}", name, value));
    }
  }
  const auto done = replay(std::string(words[0]), how);
  if (!done) {
    const std::string why = done.error().to_string();
    return refuse_replay(why);
  }
  if (has("--json")) {
    fmt::print("{}\n", done->json());
  } else {
    fmt::print("{}", done->text());
  }
  return done->equal() ? 0 : 1;
}

}  // namespace troupe::info
