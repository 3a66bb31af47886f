#pragma once

#include "device/journal/format.hpp"
#include "os/unique_fd.hpp"

#include <troupe/base/result.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe::journal {

/// One request of a journal, and what is known of it.
struct noted_request {
  send_note about{};
  std::vector<std::byte> frame{};
  std::optional<end_note> end{};
  std::vector<std::byte> rest{};  ///< its reply, or the text of its error
  std::vector<bytes_note> contents{};
  std::vector<bytes_note> seen{};
};

/// The part of a journal about one device.
struct noted_device {
  std::map<std::string, std::string, std::less<>> build{};
  std::unordered_map<std::uint64_t, std::string> types{};  ///< names by id
  std::map<std::uint64_t, noted_request> requests{};       ///< by ticket
  std::vector<std::pair<std::vector<std::byte>, std::vector<std::byte>>> blobs{};
  std::vector<gap_note> gaps{};
  std::vector<checkpoint_note> checkpoints{};
  std::vector<std::string> events{};

  [[nodiscard]] std::string_view fact(std::string_view name) const;
  [[nodiscard]] std::uint64_t number(std::string_view name, int base = 10) const;
};

/// A journal that has been read. Trusts nothing in the file: a chunk that is damaged, or not there
/// as a whole, ends it, and what came before counts.
class journal_file {
 public:
  /// \errors `system_error` with the path; `invalid_argument` for a file that is no journal
  [[nodiscard]] static result<journal_file> open(const std::string& path);

  [[nodiscard]] const std::map<std::uint16_t, noted_device>& devices() const noexcept {
    return devices_;
  }
  /// Why and where it ends before its end; empty if it was closed in order.
  [[nodiscard]] const std::string& damage() const noexcept { return damage_; }
  /// The bytes that have a digest. \errors `invalid_argument` if they are missing or damaged
  [[nodiscard]] result<std::vector<std::byte>> bytes(const bytes_note& of) const;
  [[nodiscard]] std::uint64_t file_bytes() const noexcept { return file_bytes_; }

 private:
  struct place {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] std::optional<std::string> read_chunk(std::uint64_t& at, std::uint32_t number);
  [[nodiscard]] std::optional<std::string> read_notes(std::span<const std::byte> chunk);
  [[nodiscard]] bool read_note(note what, noted_device& of, std::span<const std::byte> payload);
  [[nodiscard]] static bool read_fact(note what, noted_device& of, byte_reader from);
  [[nodiscard]] static bool read_of_request(note what, noted_device& of, byte_reader from);
  [[nodiscard]] bool read(std::uint64_t at, std::span<std::byte> to) const;

  os::unique_fd file_;
  std::uint64_t file_bytes_ = 0;
  std::map<std::uint16_t, noted_device> devices_;
  std::map<digest, place> contents_;
  std::string damage_;
  bool closed_ = false;
};

}  // namespace troupe::journal
