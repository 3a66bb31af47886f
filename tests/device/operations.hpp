#pragma once

#include <troupe/device/device.hpp>
#include <troupe/plugin/worker_entry.hpp>

#include <sys/resource.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>

namespace troupe::test {

/// Waits until the flag is set and then sets every element of `output` to `value`, or adds `value`
/// to it. What tests of order and of faults are made of: work that goes on until it is told.
struct hold {
  using reply = void;
  static constexpr std::string_view name = "test.hold";

  any_tensor flag{};    ///< u32[1] in host memory; read
  any_tensor output{};  ///< f32, packed; may be null
  double value = 0;
  bool add = false;
  any_tensor begun{};  ///< u32[1] in host memory, set when the request begins; may be null

  static void describe(description<hold>& d);
};

/// What a `hold` does once its flag is set, where memory is the processor's.
void write_result(const hold& r);

/// Waits until the flag is set and then ends its process, with no report of who it was.
struct exit_when_told {
  using reply = void;
  static constexpr std::string_view name = "test.exit_when_told";

  any_tensor flag{};   ///< u32[1] in host memory; read
  any_tensor begun{};  ///< u32[1] in host memory, set when the request begins

  static void describe(description<exit_when_told>& d);
};

/// Answers the sum of `input`: shows what a later request sees.
struct sum {
  using reply = double;
  static constexpr std::string_view name = "test.sum";

  any_tensor input{};  ///< f32, packed

  static void describe(description<sum>& d);
};

void add_operations(operation_table& table);

/// A flag in memory that program and workers share.
class shared_flag {
 public:
  explicit shared_flag(device& on) : memory_(on.host_tensor<std::uint32_t>({1}).value()) {
    memory_[0] = 0;
  }
  void set() { store(1); }
  void reset() { store(0); }
  [[nodiscard]] bool is_set() const {
    return std::atomic_ref(memory_[0]).load(std::memory_order_acquire) != 0;
  }
  [[nodiscard]] const host_tensor<std::uint32_t>& tensor() const noexcept { return memory_; }

 private:
  void store(std::uint32_t value) {
    std::atomic_ref(memory_[0]).store(value, std::memory_order_release);
  }

  host_tensor<std::uint32_t> memory_;
};

/// Elements (f32) of a tensor that can be frozen on every backend: the rights of a GPU's memory are
/// those of whole slabs, and smaller tensors share one.
inline constexpr std::int64_t freezable = 64 << 10;

/// Whether the tests run on a GPU, which TROUPE_BACKEND=cuda says; else on the CPU.
[[nodiscard]] bool on_gpu();

/// Device 1; nothing on a machine with one GPU.
[[nodiscard]] std::optional<device> second_device(troupe::system& on, const device_config& config);

/// While it lives, this process gets no new descriptors.
class few_descriptors {
 public:
  few_descriptors();
  few_descriptors(const few_descriptors&) = delete;
  few_descriptors& operator=(const few_descriptors&) = delete;
  ~few_descriptors();

 private:
  rlimit before_{};
};

/// Why a device cannot be made; no code if it can.
[[nodiscard]] errc refused(troupe::system& system, std::int32_t ordinal,
                           const device_config& config);

/// Kills the process that serves the device; throws where there is none.
void kill_worker(const device& gpu);

/// Has the device lose its worker without anybody to name for it, which costs budget: it stands
/// still, with work to do. Takes some tenths of a second more than `silence_timeout`.
void freeze_worker(const device& gpu);

/// A device for tests: this program's operations, faults allowed, restarts without end or delay.
[[nodiscard]] device_config permissive();

/// Waits, with a bound, until `condition` holds; what it waits for has no event of its own.
template <class Condition>
[[nodiscard]] bool eventually(Condition&& condition,
                              std::chrono::milliseconds patience = std::chrono::seconds(10)) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace troupe::test
