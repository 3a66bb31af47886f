#pragma once

#include "device/local/local_device.hpp"
#include "forked_worker.hpp"
#include "steps.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <random>

namespace troupe::kills {

/// A device of the real parts (mailbox, reactor, supervisor, recovery) whose workers are forks, and
/// its requests. The device has no thread: its owner calls its turns.
class program {
 public:
  static constexpr std::size_t lanes = 3;

  program(journal& fates, std::uint32_t capacity);
  ~program();
  program(const program&) = delete;
  program& operator=(const program&) = delete;

  /// Until the first worker serves and the standby has been forked.
  void start();
  [[nodiscard]] forked_environment& environment() noexcept { return environment_; }
  [[nodiscard]] local_device& core() noexcept { return *core_; }
  [[nodiscard]] mailbox& requests() noexcept { return *requests_; }
  /// The eventfd on which a device thread would sleep.
  [[nodiscard]] int wakes() const noexcept { return wakes_; }
  [[nodiscard]] os::unique_fd const& segment_of_first() const noexcept {
    return *segment_of_first_;
  }

  /// One drawn at random: mostly an `add`. `said` is called with its answer, once.
  struct drawn {
    std::int64_t number = 0;
    std::uint8_t lane = 0;
    bool adds = false;
  };
  [[nodiscard]] static drawn draw(std::mt19937_64& random, std::int64_t number);
  result<void> send(const drawn& what, std::int64_t pauses, detail::completion said);
  /// The same, for who waits.
  [[nodiscard]] future<std::int64_t> ask(const drawn& what, std::int64_t pauses);

 private:
  operation_table operations_;
  forked_environment environment_;
  std::shared_ptr<memory_pool> host_memory_;
  std::shared_ptr<local_device> core_;
  std::array<any_tensor, lanes> cells_;
  mailbox* requests_ = nullptr;
  int wakes_ = -1;
  const os::unique_fd* segment_of_first_ = nullptr;
};

}  // namespace troupe::kills
