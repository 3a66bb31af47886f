#pragma once

#include <troupe/base/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// The file of a journal. It begins with `file_mark`; then chunks follow, each with its header. A
/// chunk of notes holds notes, and its checksum covers all of them, so that it counts as a whole or
/// not at all. A chunk of bytes holds a digest and the bytes that have it; its checksum covers the
/// digest, which covers the bytes. Numbers are little-endian and unaligned.
///
/// Notes name requests by device and ticket, in any order: a content may come before the request
/// that reads it.
namespace troupe::journal {

inline constexpr std::array<char, 16> file_mark = {'t', 'r', 'o', 'u', 'p', 'e', '-', 'j',
                                                   'o', 'u', 'r', 'n', 'a', 'l', '-', '1'};

struct chunk_header {
  static constexpr std::uint32_t notes = 0x314e4a54;  // "TJN1"
  static constexpr std::uint32_t bytes = 0x31424a54;  // "TJB1"

  std::uint32_t mark = 0;
  std::uint32_t length = 0;  ///< after this header
  std::uint32_t checksum = 0;
  std::uint32_t number = 0;  ///< the chunk's, from 0
};
static_assert(sizeof(chunk_header) == 16);

inline constexpr std::uint32_t most_chunk_bytes = std::uint32_t{1} << 30;

enum class note : std::uint16_t {
  build = 1,   ///< text: lines `name value` about the device
  type,        ///< id, length of the name, name, description as JSON
  send,        ///< `send_note`, encoded request
  end,         ///< `end_note`, reply or text of the error
  content,     ///< `bytes_note`: the program had left these bytes when the request was sent
  seen,        ///< `bytes_note`: the request has left these bytes for the program
  blob,        ///< length of the key, key, content: see `wire::blob_memory`
  gap,         ///< `gap_note`: some notes are missing
  event,       ///< text about an event of the device
  closed,      ///< the journal was closed in order
  checkpoint,  ///< `checkpoint_note`
};

/// Before the payload of each note.
struct note_header {
  std::uint32_t length = 0;  ///< the payload's
  note what{};
  std::uint16_t device = 0;
};
static_assert(sizeof(note_header) == 8);

using digest = std::array<std::uint8_t, 32>;

struct send_note {
  static constexpr std::uint8_t is_part = 1;   ///< its request is for several devices
  static constexpr std::uint8_t is_bound = 2;  ///< it reads a bound set, whose table has addresses

  std::uint64_t ticket = 0;
  std::uint64_t type = 0;
  std::int64_t run_limit_ns = 0;
  std::uint8_t lane = 0;
  std::uint8_t flags = 0;
  std::array<std::uint8_t, 6> unused{};
};
static_assert(sizeof(send_note) == 32);

struct end_note {
  std::uint64_t ticket = 0;
  std::uint8_t failed = 0;
  std::uint8_t code = 0;  ///< `errc`, if it failed
  std::array<std::uint8_t, 6> unused{};
};
static_assert(sizeof(end_note) == 16);

struct bytes_note {
  std::uint64_t ticket = 0;
  std::uint64_t offset = 0;  ///< from the start of the pool's range
  std::uint64_t bytes = 0;
  std::uint8_t pool = 0;
  std::array<std::uint8_t, 7> unused{};
  digest is{};
};
static_assert(sizeof(bytes_note) == 64);

struct gap_note {
  enum missing : std::uint64_t { requests, contents, ends };

  std::uint64_t first = 0;  ///< ticket
  std::uint64_t last = 0;   ///< likewise; others in between may be there
  std::uint64_t what = requests;
};
static_assert(sizeof(gap_note) == 24);

/// Requests in a row that copy all of the device's memory to host memory. No other request has a
/// ticket between theirs.
struct checkpoint_note {
  std::uint64_t first = 0;  ///< ticket
  std::uint64_t last = 0;   ///< likewise
};
static_assert(sizeof(checkpoint_note) == 16);

/// CRC-32C. Source: RFC 3720, appendix B.4
[[nodiscard]] std::uint32_t checksum_of(std::span<const std::byte> bytes,
                                        std::uint32_t before = 0) noexcept;

template <class T>
  requires std::is_trivially_copyable_v<T>
[[nodiscard]] std::span<const std::byte> bytes_of(const T& value) noexcept {
  return std::as_bytes(std::span(&value, 1));
}

/// Appends a note to a chunk.
inline void append(std::vector<std::byte>& to, note what, std::uint16_t device,
                   std::initializer_list<std::span<const std::byte>> parts) {
  std::size_t length = 0;
  for (const auto& part : parts)
    length += part.size();
  const note_header head{static_cast<std::uint32_t>(length), what, device};
  const auto add = [&to](std::span<const std::byte> more) {
    to.insert(to.end(), more.begin(), more.end());
  };
  add(bytes_of(head));
  for (const auto& part : parts)
    add(part);
}

[[nodiscard]] inline std::span<const std::byte> bytes_of_text(std::string_view text) noexcept {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// Takes values from the front of bytes that anybody may have written.
class byte_reader {
 public:
  explicit byte_reader(std::span<const std::byte> from) noexcept : left_(from) {}

  template <class T>
    requires std::is_trivially_copyable_v<T>
  [[nodiscard]] std::optional<T> take() noexcept {
    if (left_.size() < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(static_cast<void*>(&value), left_.data(), sizeof(T));
    left_ = left_.subspan(sizeof(T));
    return value;
  }
  [[nodiscard]] std::optional<std::span<const std::byte>> take(std::uint64_t bytes) noexcept {
    if (left_.size() < bytes) return std::nullopt;
    const auto taken = left_.first(static_cast<std::size_t>(bytes));
    left_ = left_.subspan(static_cast<std::size_t>(bytes));
    return taken;
  }
  [[nodiscard]] std::span<const std::byte> rest() const noexcept { return left_; }

 private:
  std::span<const std::byte> left_;
};

[[nodiscard]] inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace troupe::journal
