#pragma once

#include "os/unique_fd.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace troupe::telemetry {

/// A connection, and how far it is.
struct connection {
  using clock = std::chrono::steady_clock;
  enum class phase : std::uint8_t {
    reads,     ///< the head of its request
    waits,     ///< for its response
    writes,    ///< its response
    streams,   ///< pieces as they come
    says_bye,  ///< all is written; reads until the other side closes, so that it gets everything
    has_ended,
  };

  os::unique_fd socket;
  std::uint64_t number = 0;
  bool is_local = false;
  clock::time_point ends_at{};   ///< if nothing happens
  clock::time_point last_end{};  ///< whatever happens; not for streams
  phase now = phase::reads;
  std::string in{};
  std::string out{};
  std::size_t written = 0;  ///< bytes of `out`

  /// How long a client may take for its request, and for each part of the response.
  static constexpr std::chrono::seconds patience{5};
  static constexpr std::chrono::seconds longest{60};
  /// A stream whose reader is so far behind ends.
  static constexpr std::size_t most_unread = std::size_t{8} << 20;

  [[nodiscard]] bool wants_to_write() const noexcept { return written < out.size(); }
  /// Writes what can be written now. Moves on when all is.
  void write_some(clock::time_point at) noexcept;
  /// Reads what is there into `in`, at most `most` bytes of it; ends when the other side has.
  void read_some(std::size_t most);
  void append(const std::string& bytes, clock::time_point at);
};

}  // namespace troupe::telemetry
