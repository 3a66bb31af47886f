#pragma once

#include "device/journal/journal_writer.hpp"
#include "device/local/local_device.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace troupe {

/// Keeps each request that ended its worker, with what it read, as a journal of its own
/// (`device_config::fault_journal`).
///
/// With the reactor's role it copies the request's bytes and its small operands in host memory, and
/// sends copies of the others, which the next worker runs before anything that is sent later. A
/// thread, started by the first fault, writes the files once they have ended; the holder of the
/// role never waits for it. Faults beyond those that wait for it are not kept.
class fault_keeper {
 public:
  explicit fault_keeper(local_device& of) noexcept : device_(of) {}
  ~fault_keeper();
  fault_keeper(const fault_keeper&) = delete;
  fault_keeper& operator=(const fault_keeper&) = delete;

  /// With the role, before the request is answered.
  void keep(std::uint16_t slot, const error& why) noexcept;

 private:
  /// Bytes that a request read, in host memory by now.
  struct operand {
    journal::bytes_note about{};
    any_tensor copy{};
  };
  struct fault {
    const request_type* type = nullptr;
    journal::send_note about{};
    std::vector<std::byte> frame{};
    error why{};
    std::vector<operand> operands{};
    std::vector<std::string> remarks{};
    std::mutex mutex{};
    std::atomic<std::size_t> left{1};  // copies, and the thread that sends them
  };

  void capture(const std::shared_ptr<fault>& f, const record& r);
  void copy(const std::shared_ptr<fault>& f, const kept_operand& o, std::string_view name);
  [[nodiscard]] std::string overwritten_by(const kept_operand& o, std::uint64_t after);
  void end_one(const std::shared_ptr<fault>& f) noexcept;
  void write_all(const std::stop_token& end);
  void write(fault& f) const;
  [[nodiscard]] bool make_room(const std::string& folder) const;

  local_device& device_;
  std::mutex mutex_;  // guards the next ones; a leaf
  std::condition_variable_any has_fault_;
  std::deque<std::shared_ptr<fault>> ended_;  // which can be written
  std::jthread writer_;
};

}  // namespace troupe
