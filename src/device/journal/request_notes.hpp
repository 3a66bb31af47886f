#pragma once

#include "device/journal/host_contents.hpp"
#include "device/journal/journal_writer.hpp"
#include "device/journal/note_queue.hpp"
#include "device/mailbox/record.hpp"
#include "memory/memory_pool.hpp"
#include "os/shared_memory.hpp"
#include "wire/blob_memory.hpp"
#include "wire/layout.hpp"

#include <troupe/device/device_description.hpp>
#include <troupe/device/request_tracer.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

namespace troupe::journal {

/// The facts about a device that a journal begins with.
[[nodiscard]] std::string build_text(const device_description& d, const memory_pool& device,
                                     const memory_pool& host, bool with_faults);

/// Copies the bytes that `about` describes, from `from`, in blocks of a few megabytes: each has a
/// digest of its own, and several threads compute them.
void add_blocks(std::vector<block>& to, std::uint16_t device, note what, const bytes_note& about,
                const std::byte* from);

/// Writes a device's notes for its journal. A device without a journal has none of these.
///
/// Notes of requests are written by their senders, those of ends by the holder of the reactor's
/// role; each goes through a queue of its own to the journal's thread.
class request_notes final : public note_source {
 public:
  struct parts {
    std::shared_ptr<journal_writer> writer;
    std::uint16_t device = 0;
    std::uint32_t capacity = 0;  ///< the mailbox's
    const device_description* description = nullptr;
    memory_pool* device_memory = nullptr;
    memory_pool* host_memory = nullptr;
    const os::unique_fd* blobs = nullptr;
    bool with_faults = false;  ///< `device_config::fault_injection`
  };
  explicit request_notes(const parts& of);
  ~request_notes();
  request_notes(const request_notes&) = delete;
  request_notes& operator=(const request_notes&) = delete;

  /// Before the request is published: its slot may be used again right after. `is_open`: the worker
  /// may begin it at once. The same thread calls `sent` when it is published, and nothing between.
  void begin(const record& r, std::uint16_t slot, std::span<const std::byte> frame, bool is_open,
             bool is_part) noexcept;
  /// \returns whether a checkpoint is due; the caller makes it then
  bool sent(std::uint16_t slot, std::uint64_t ticket) noexcept;
  /// These requests have copied all device memory; nothing if that could not be done.
  void checkpoint(const std::optional<checkpoint_note>& made) noexcept;
  /// A request that was sent closed gets its data now.
  void opened(const record& r, std::uint16_t slot) noexcept;
  /// With the reactor's role. `reply` as for a completion.
  void ended(const record& r, std::uint16_t slot, const std::byte* reply,
             const error* failure) noexcept;
  /// A request that was answered before it ended.
  void freed(std::uint16_t slot) noexcept { host_.forget(slot); }
  /// The program gives back a mapped tensor, or has read it.
  void unmapped(std::uint64_t ticket, const any_tensor& t, const std::byte* at,
                access role) noexcept;
  void happened(const std::string& what) noexcept;

  bool give_notes(note_chunk& to) override;

 private:
  struct frame_note {
    const request_type* type = nullptr;
    send_note about{};
  };
  /// A request that is about to be published.
  struct sending {
    std::byte* at = nullptr;  // null: left out
    std::size_t bytes = 0;
    std::vector<block> contents{};
    bool gap = false;
    bool is_open = false;
    bool is_part = false;
  };
  /// This thread's.
  [[nodiscard]] static sending& being_sent() noexcept;
  [[nodiscard]] bool counts_to_checkpoint(const sending& one) noexcept;
  void capture_inputs(const record& r, std::uint16_t slot, sending& to);
  [[nodiscard]] bool capture_outputs(const record& r, std::uint16_t slot);
  [[nodiscard]] bool add_end(const end_note& head, std::span<const std::byte> rest) noexcept;
  void queue(std::vector<block>&& all, std::uint64_t ticket) noexcept;
  void note_gap(std::uint64_t ticket, gap_note::missing what) noexcept;
  void give_type(const request_type& type, note_chunk& to);
  void give_blobs(note_chunk& to);

  const std::shared_ptr<journal_writer> writer_;
  const std::uint16_t device_;
  memory_pool& device_memory_;
  memory_pool& host_memory_;
  host_contents host_;
  const bool with_contents_;
  note_queue sends_;
  note_queue ends_;
  std::vector<std::uint64_t> tickets_;  // by slot, of closed requests; their senders'
  std::mutex gaps_mutex_;               // guards the next three
  std::vector<gap_note> gaps_;
  std::vector<std::string> events_;
  std::vector<checkpoint_note> checkpoints_;
  std::atomic<bool> has_gaps_{false};
  std::atomic<std::uint64_t> since_checkpoint_{0};  // bytes
  std::atomic<bool> makes_checkpoint_{false};
  // The journal's thread.
  std::unordered_set<std::uint64_t> types_;
  os::mapping blob_pages_;
  std::optional<wire::blob_memory> blobs_;
  std::uint32_t blob_news_ = 0;
  std::vector<bool> told_blobs_;
};

/// Tells a device's journal of its events.
class event_notes final : public request_tracer {
 public:
  explicit event_notes(request_notes& to) noexcept : to_(to) {}
  void on_event(const device_event& e) noexcept override;

 private:
  request_notes& to_;
};

}  // namespace troupe::journal
