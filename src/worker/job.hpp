#pragma once

#include "worker/hazards.hpp"

#include <troupe/worker/executor.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <vector>

namespace troupe::worker {

/// Room for one decoded request at a time; kept and used again, so that nothing is allocated in the
/// steady state.
class request_room {
 public:
  request_room() = default;
  request_room(const request_room&) = delete;
  request_room& operator=(const request_room&) = delete;
  ~request_room() { clear(); }

  /// Constructs an empty request of that type.
  void* emplace(const request_type& type) {
    clear();
    if (type.bytes > bytes_) {
      room_.reset(static_cast<std::byte*>(::operator new(type.bytes, alignment)));
      bytes_ = type.bytes;
    }
    type.construct(room_.get());
    type_ = &type;
    return room_.get();
  }
  void clear() noexcept {
    if (type_ != nullptr) type_->destroy(room_.get());
    type_ = nullptr;
  }
  [[nodiscard]] void* get() const noexcept { return room_.get(); }

 private:
  static constexpr std::align_val_t alignment{64};
  struct deleter {
    void operator()(std::byte* p) const noexcept { ::operator delete(p, alignment); }
  };

  std::unique_ptr<std::byte, deleter> room_;
  std::size_t bytes_ = 0;
  const request_type* type_ = nullptr;
};

/// A request in the worker, from decoding to its mark.
struct job {
  std::uint64_t ticket = 0;
  std::uint64_t place = 0;  ///< in its lane, from 1
  std::int64_t deadline_ns = 0;
  std::uint64_t memory_version = 0;  ///< see `engine::set_memory_version`
  const operation* op = nullptr;
  std::uint16_t slot = 0;
  std::uint8_t lane = 0;
  bool held = false;             ///< see `wire::slot_header::held`
  bool told = false;             ///< see `wire::slot_header::told`
  bool repeatable = false;       ///< reads nothing that it writes, so it may be run again
  bool large = false;            ///< touches so much memory that others should be read meanwhile
  std::optional<error> refused;  ///< found while decoding; answered in the lane's order
  request_room request;
  std::vector<wire::operand> operands;
  dependencies waits;
  /// Set before the mark, by the thread that ran the job, and looked at by the one that reads the
  /// slot's next request. The mark, and what the program does when it sees it, order the two
  /// already; this says so where this process, and ThreadSanitizer, can see it.
  std::atomic<bool> handed_back{true};

  /// The bytes that `request` and `operands` were decoded from and found valid, while they are
  /// kept: a program that sends the same again, in the same slot, need not have it decoded again.
  std::vector<std::byte> bytes;
  bool kept = false;

  /// After it has run.
  void release_request() noexcept {
    if (!kept) request.clear();
  }
};

}  // namespace troupe::worker
