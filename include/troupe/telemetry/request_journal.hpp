#pragma once

#include <troupe/base/export.hpp>
#include <troupe/base/result.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace troupe {

namespace journal {
class journal_writer;
}

/// The content of a journal, and its behaviour when it cannot keep up.
struct journal_options {
  enum class stored : std::uint8_t {
    frames,    ///< the requests and their ends, without any data
    contents,  ///< also what the program has left in host memory for requests, and they for it
  };
  enum class when_behind : std::uint8_t {
    gap,   ///< notes are left out, and the journal says which
    wait,  ///< senders wait
    stop,  ///< the journal ends there
  };

  stored data = stored::contents;
  when_behind behind = when_behind::gap;
  /// Most bytes of contents on their way to the file.
  std::uint64_t queue_bytes = std::uint64_t{64} << 20;
  /// Host memory of one request beyond this is left out, as a gap.
  std::uint64_t most_request_bytes = std::uint64_t{64} << 20;
  /// The journal stops before its file is larger; 0 for no limit.
  std::uint64_t most_bytes = 0;
  /// After so many bytes of requests and data the journal also gets what is in the device's memory,
  /// by copies that are sent as any request, so that a replay of later requests begins there; 0 for
  /// never. Left out where the mailbox or host memory has no room for the copies, where other
  /// threads send in between, and where memory is tainted; then it is tried again soon.
  std::uint64_t checkpoint_bytes = 0;
};

/// How far a journal has come.
struct journal_statistics {
  std::uint64_t requests = 0;    ///< that were noted
  std::uint64_t gaps = 0;        ///< notes and contents that were left out
  std::uint64_t contents = 0;    ///< blocks that were handed in
  std::uint64_t duplicates = 0;  ///< of these, blocks that the file had already
  std::uint64_t file_bytes = 0;
  std::uint64_t waits = 0;  ///< how often a sender waited
  std::string stopped{};    ///< why it has ended early; empty if it has not
};

/// A file that records what devices are asked (`device_config::journal`): each request, its end,
/// and the data that pass between the program and its devices. `replay` and `troupe replay` run it
/// again.
///
/// The file has rights 0600: its contents are the program's data. Several devices of a system may
/// have the same journal. A thread of its own writes, at most a fifth of a second later; it is
/// complete once the last device that uses it has ended and this is destroyed. It can be read
/// before, up to what has been written. A write that fails costs contents, never a request; after
/// three in a row the journal stops (`journal_statistics::stopped`). Thread-safe.
class TROUPE_EXPORT request_journal {
 public:
  /// Creates the file, or empties it. \errors `system_error` with the path; `invalid_argument` for
  /// queue_bytes below 1 MiB
  [[nodiscard]] static result<std::shared_ptr<request_journal>> open(
      const std::string& path, const journal_options& options = {});
  ~request_journal();
  request_journal(const request_journal&) = delete;
  request_journal& operator=(const request_journal&) = delete;

  [[nodiscard]] journal_statistics statistics() const;
  /// Waits until everything that was noted before is in the file. False if it is not, because a
  /// write has failed or the journal has stopped.
  bool flush();

  [[nodiscard]] const std::shared_ptr<journal::journal_writer>& writer() const noexcept {
    return writer_;
  }

 private:
  explicit request_journal(std::shared_ptr<journal::journal_writer> writer) noexcept;

  std::shared_ptr<journal::journal_writer> writer_;
};

}  // namespace troupe
