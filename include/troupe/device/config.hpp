#pragma once

#include <troupe/core/supervision.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

class operation_table;

/// Where a device's requests run.
enum class isolation : std::uint8_t {
  process,  ///< in worker processes, which the device replaces when they fault
  thread,   ///< in threads of this program: for debuggers; a fault ends the program
};

/// What computes a device's requests.
enum class backend_kind : std::uint8_t {
  /// CUDA where the GPU that `device_config::gpu` means can be used, else the CPU; but a GPU that
  /// is named, by number or UUID, must be there. The environment variable TROUPE_BACKEND ("cpu" or
  /// "cuda") decides for programs that leave it at this.
  automatic,
  cpu,
  cuda,
};

/// Which of the GPUs that the program may see serves a device. What it may see, and in which order,
/// says `CUDA_VISIBLE_DEVICES` as for every program.
struct gpu_choice {
  enum class kind : std::uint8_t { same_number, number, uuid, any };
  kind what = kind::same_number;
  std::int32_t index = 0;  ///< of `number`
  std::string name{};      ///< of `uuid`

  /// The GPU of the device's own number.
  [[nodiscard]] static gpu_choice same_number() { return {}; }
  /// The GPU of that number.
  [[nodiscard]] static gpu_choice number(std::int32_t n) { return {kind::number, n, {}}; }
  /// The GPU of that UUID ("GPU-5f3a…", as nvidia-smi -L writes it), or of the only one that begins
  /// so.
  [[nodiscard]] static gpu_choice uuid(std::string id) { return {kind::uuid, 0, std::move(id)}; }
  /// One that can be used and no other device of this system has, if there is one; of these the
  /// one with the most free memory.
  [[nodiscard]] static gpu_choice any() { return {kind::any, 0, {}}; }
};

/// What happens to a request that finds the device's mailbox full.
enum class when_full : std::uint8_t {
  reject,  ///< it fails with `errc::mailbox_full`
  wait,    ///< the sender waits for room
};

/// Which lanes (queues that run beside each other, streams on a GPU) the actors of a device's
/// libraries get. A device has 24 lanes; those beyond share.
struct lane_policy {
  enum class kind : std::uint8_t { one, per_actor, pool };
  kind what = kind::per_actor;
  int lanes = 1;  ///< of each library's pool

  /// All libraries in one lane: everything in the order sent.
  [[nodiscard]] static constexpr lane_policy one() noexcept { return {kind::one, 1}; }
  /// A lane for each library.
  [[nodiscard]] static constexpr lane_policy per_actor() noexcept { return {}; }
  /// `n` lanes for each library, taken in turn by its requests.
  [[nodiscard]] static constexpr lane_policy pool(int n) noexcept { return {kind::pool, n}; }
};

/// How a device is made. The defaults are meant to be right.
struct device_config {
  troupe::isolation isolation = troupe::isolation::process;
  backend_kind backend = backend_kind::automatic;
  /// Not looked at where the CPU computes.
  gpu_choice gpu = gpu_choice::same_number();
  /// Requests that may be waiting or running at once; 1 to 16 384.
  std::uint32_t mailbox_capacity = 1024;
  /// Room for requests that do not fit a slot of 456 bytes, such as long lists of tensors.
  std::uint64_t mailbox_bytes = std::uint64_t{4} << 20;
  when_full full = when_full::reject;  ///< also of what `mailbox_bytes` has no room for
  /// Device memory; 0 takes what the GPU has, on the CPU backend half of the machine's or of its
  /// control group's, an eighth of RLIMIT_AS, and 2 TiB at most. More than there are addresses for
  /// is `out_of_memory`, with the greatest limit that there is room for.
  std::uint64_t memory_limit_bytes = 0;
  /// Keeps a second worker ready, so that a fault costs a hand-over instead of a start.
  bool standby = true;
  lane_policy lanes = lane_policy::per_actor();
  /// Threads that run lanes on the CPU backend, at most 4096; 0 takes the number of processors, at
  /// least two.
  int lane_threads = 0;
  /// Libraries that may be used, by name ("blas", "memory"); empty enables all.
  std::vector<std::string> libraries{};
  /// Workers that may be replaced within a window; one more failure stops the device. A loss that a
  /// request is named for, or that comes from outside, costs nothing of it, nor does a run limit.
  /// Before the first worker has been ready, starts may fail three times at most.
  restart_budget restarts{.restarts = 20, .window = std::chrono::minutes(5)};
  /// The wait before a replacement, by how many others cost budget within the window or followed
  /// one another without a request that ended well; the first is immediate.
  troupe::backoff backoff{};
  /// A worker that has not become ready after this long has failed to start.
  std::chrono::nanoseconds start_timeout = std::chrono::seconds(20);
  /// A worker with work to do that makes no progress is asked for a sign of life; one that does not
  /// answer for this long is replaced.
  std::chrono::nanoseconds silence_timeout = std::chrono::seconds(1);
  /// How long a request may run that says nothing else (`request_options::run_limit`). One that
  /// runs longer is taken for a hang and ends with its worker. `max()` is no limit, as in
  /// `isolation::thread`, where only what a request says counts.
  std::chrono::nanoseconds run_limit = std::chrono::minutes(10);
  /// How long a request is refused that has ended two workers, in the same bytes and reading the
  /// same (`device::quarantine`). Each fault after that doubles it, up to an hour. Zero: never.
  std::chrono::nanoseconds quarantine = std::chrono::minutes(1);
  /// Allows `fault::inject` and `fault::spin_until`. For tests and demonstrations.
  bool fault_injection = false;
  /// Path of the worker executable; empty looks beside the library.
  std::string worker_path{};
  /// Path of the backend plugin; empty looks beside the library.
  std::string backend_path{};
  /// Plugins of the user's own operations, made by `troupe_add_plugin`: the file for the CPU; with
  /// CUDA, `libmy_ops-cuda.so` beside `libmy_ops.so` is loaded. Every worker loads them all, or the
  /// device does not start. A path that is not absolute begins in the folder that the program is in
  /// when the device is made.
  /// \errors when the device starts: `library_missing` for a file that is not there, cannot be
  /// loaded or is no plugin; `version_mismatch` for one that was built for another Troupe;
  /// `invalid_argument` for an operation whose name is taken or is of one of Troupe's own
  /// libraries.
  std::vector<std::string> plugins{};
  /// Operations of the program's own; it must then call `worker_entry` with the same function, and
  /// is its own worker unless `worker_path` says otherwise.
  void (*own_operations)(operation_table&) = nullptr;
};

}  // namespace troupe
