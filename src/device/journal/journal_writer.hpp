#pragma once

#include "device/journal/format.hpp"
#include "os/unique_fd.hpp"

#include <troupe/telemetry/request_journal.hpp>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

namespace troupe::journal {

/// Bytes of host or device memory on their way to the file.
struct block {
  std::uint16_t device = 0;
  note what{};
  bytes_note about{};  ///< without its digest
  std::unique_ptr<std::byte[]> bytes{};
};

/// Notes of one chunk.
class note_chunk {
 public:
  void add(note what, std::uint16_t device,
           std::initializer_list<std::span<const std::byte>> parts) {
    append(bytes_, what, device, parts);
  }
  void add(const note_chunk& other) {
    bytes_.insert(bytes_.end(), other.bytes_.begin(), other.bytes_.end());
  }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
  void clear() noexcept { bytes_.clear(); }

 private:
  std::vector<std::byte> bytes_;
};

/// A device, which has notes.
class note_source {
 public:
  /// Adds what it has to the chunk. The writer's thread, or one that holds its lock. False if there
  /// was nothing.
  virtual bool give_notes(note_chunk& to) = 0;

 protected:
  ~note_source() = default;
};

/// Writes the file of a journal. Two kinds of threads of its own: one collects the notes of its
/// sources, in chunks; the others, started by the first block, compute digests and write the bytes
/// that the file does not have.
///
/// A note is written only when the blocks that were added before it are in the file. So after a
/// kill each request whose end is there has its data.
///
/// `sources_mutex_` is held while notes are collected and their blocks waited for, `file_mutex_`
/// while the file grows; the first before the second. `blocks_mutex_` guards the queue of blocks,
/// and is a leaf.
class journal_writer {
 public:
  [[nodiscard]] static result<std::shared_ptr<journal_writer>> open(const std::string& path,
                                                                    const journal_options& options);
  ~journal_writer();

  /// A number for a device, which its notes have. `device_number` is its ordinal.
  void add(note_source& source, std::uint16_t device, std::string_view build);
  /// Takes the last notes of a source.
  void remove(note_source& source) noexcept;

  /// Adds notes of the caller's.
  void add(const note_chunk& notes);
  /// Queues a block. False if it was left out; as configured, waits while the queue is full.
  bool add(block&& one);
  /// Wakes the writing thread, if it sleeps.
  void wake() noexcept {
    if (asleep_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      ring();
  }
  /// For a sender whose queue is full. False: it leaves its note out.
  bool await_space() noexcept;
  void note_gap() noexcept { gaps_.fetch_add(1, std::memory_order_relaxed); }
  void note_request() noexcept { requests_.fetch_add(1, std::memory_order_relaxed); }

  [[nodiscard]] const journal_options& options() const noexcept { return options_; }
  [[nodiscard]] bool stopped() const noexcept { return stopped_.load(std::memory_order_relaxed); }
  void stop(std::string why) noexcept;
  bool flush();
  [[nodiscard]] journal_statistics statistics() const;

 private:
  journal_writer(std::string path, os::unique_fd file, const journal_options& options);

  void write_notes(const std::stop_token& end);
  bool collect();
  [[nodiscard]] bool has_room() const;
  void pause(const std::stop_token& end, bool busy);
  void write_blocks(const std::stop_token& end);
  void await_blocks();
  void write_block(const block& one);
  void write_chunk();
  [[nodiscard]] bool append_to_file(std::uint32_t mark,
                                    std::initializer_list<std::span<const std::byte>> parts,
                                    std::uint32_t checksum) noexcept;
  template <class Why>
  void give_up(Why why) noexcept;
  void ring() noexcept;
  void start_threads();

  const std::string path_;
  const journal_options options_;
  const std::uint32_t made_in_;  // the fork count
  const os::unique_fd file_;

  std::atomic<std::uint32_t> asleep_{0};  // relaxed: see `pause`
  std::atomic<bool> stopped_{false};
  std::atomic<std::uint64_t> requests_{0};
  std::atomic<std::uint64_t> gaps_{0};
  std::atomic<std::uint64_t> waits_{0};
  std::atomic<std::uint64_t> contents_{0};
  std::atomic<std::uint64_t> duplicates_{0};

  std::mutex sources_mutex_;
  std::vector<note_source*> sources_;

  mutable std::mutex file_mutex_;  // guards the next ones
  note_chunk chunk_;
  std::uint64_t file_bytes_ = 0;
  std::uint32_t chunks_ = 0;
  int failed_writes_ = 0;
  std::string why_stopped_;
  struct hash_of_digest {
    std::size_t operator()(const digest& d) const noexcept;
  };
  std::unordered_set<digest, hash_of_digest> known_;

  mutable std::mutex blocks_mutex_;  // guards the next ones
  std::condition_variable_any has_block_;
  std::condition_variable_any has_space_;
  std::deque<std::pair<std::uint64_t, block>> blocks_;
  std::set<std::uint64_t> unwritten_;  // numbers of those that are not in the file yet
  std::uint64_t queued_bytes_ = 0;     // in blocks that are not in the file yet
  std::uint64_t taken_in_ = 0;

  std::vector<std::jthread> hashers_;  // with `blocks_mutex_`
  std::jthread thread_;                // last: uses the rest
};

}  // namespace troupe::journal
