#pragma once

#include <troupe/core/supervision.hpp>
#include <troupe/request/library_methods.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

class fork_server;
class operation_table;
class request_journal;
class request_tracer;

/// The process or threads in which a device's requests run.
enum class isolation : std::uint8_t {
  process,  ///< in worker processes, which the device replaces when they fault
  thread,   ///< in threads of this program, for debugging; a fault ends the program
};

/// Which backend runs a device's requests.
enum class backend_kind : std::uint8_t {
  /// CUDA if the GPU that `device_config::gpu` selects can be used, else the CPU. A GPU that is
  /// selected by number or UUID must exist. If a program leaves this value, the environment
  /// variable TROUPE_BACKEND ("cpu" or "cuda") decides.
  automatic,
  cpu,
  cuda,
};

/// Which of the GPUs visible to the program serves a device. As for any CUDA program,
/// `CUDA_VISIBLE_DEVICES` sets which GPUs are visible and their order.
struct gpu_choice {
  enum class kind : std::uint8_t { same_number, number, uuid, any };
  kind what = kind::same_number;
  std::int32_t index = 0;  ///< for `number`
  std::string name{};      ///< for `uuid`

  /// The GPU with the same number as the device.
  [[nodiscard]] static gpu_choice same_number() { return {}; }
  /// The GPU with number `n`.
  [[nodiscard]] static gpu_choice number(std::int32_t n) { return {kind::number, n, {}}; }
  /// The GPU with this UUID ("GPU-5f3a…", as `nvidia-smi -L` prints it). A prefix is enough if only
  /// one GPU matches it.
  [[nodiscard]] static gpu_choice uuid(std::string id) { return {kind::uuid, 0, std::move(id)}; }
  /// A usable GPU that no other device of this system uses, if there is one. If several qualify,
  /// the one with the most free memory.
  [[nodiscard]] static gpu_choice any() { return {kind::any, 0, {}}; }
};

/// The handling of a request when the device's mailbox is full.
enum class when_full : std::uint8_t {
  reject,  ///< it fails with `errc::mailbox_full`
  wait,    ///< the sender waits for room
};

/// How lanes are assigned to a device's libraries. Lanes are queues that run concurrently (streams
/// on a GPU). A device has 23 lanes; libraries that need more share them.
struct lane_policy {
  enum class kind : std::uint8_t { one, per_actor, pool };
  kind what = kind::per_actor;
  int lanes = 1;  ///< in each library's pool

  /// One lane for all libraries: every request runs in the order sent.
  [[nodiscard]] static constexpr lane_policy one() noexcept { return {kind::one, 1}; }
  /// One lane for each library.
  [[nodiscard]] static constexpr lane_policy per_actor() noexcept { return {}; }
  /// `n` lanes for each library; its requests use them in turn.
  [[nodiscard]] static constexpr lane_policy pool(int n) noexcept { return {kind::pool, n}; }
};

/// Keeps each request that ended its worker as a journal of its own, with what it read, for
/// `troupe replay`. Recovery does not wait for it.
struct fault_journal_options {
  std::string folder{};  ///< made with rights 0700 if it is not there; empty keeps none
  std::uint64_t most_bytes = std::uint64_t{64} << 20;  ///< of data, for each; the smallest first
  std::uint32_t most_files = 32;                       ///< the oldest are removed
};

/// Configuration of a device. The defaults suit most programs.
struct device_config {
  troupe::isolation isolation = troupe::isolation::process;
  backend_kind backend = backend_kind::automatic;
  /// Ignored by the CPU backend.
  gpu_choice gpu = gpu_choice::same_number();
  /// Maximum number of requests waiting or running at once; 1 to 16 384.
  std::uint32_t mailbox_capacity = 1024;
  /// Space for requests larger than a 456-byte mailbox slot, such as long lists of tensors.
  std::uint64_t mailbox_bytes = std::uint64_t{4} << 20;
  when_full full = when_full::reject;  ///< applies also when `mailbox_bytes` is used up
  /// Limit of device memory. 0 means all memory of the GPU. On the CPU backend 0 means half of the
  /// memory of the machine or its control group, but at most an eighth of RLIMIT_AS and at most 2
  /// TiB. If the address space cannot hold the limit, the device fails with `out_of_memory`; the
  /// message gives the largest limit that fits.
  std::uint64_t memory_limit_bytes = 0;
  /// False: no other device's worker maps this device's memory, and its workers map no other's, as
  /// between GPUs without peer access (`system::topology`). Their data pass through host memory.
  /// For machines whose peer access is broken.
  bool peer_access = true;
  /// Keeps a second worker ready, so that recovery from a fault does not wait for a worker to
  /// start.
  bool standby = true;
  lane_policy lanes = lane_policy::per_actor();
  /// Threads that run lanes on the CPU backend, at most 4096. 0 means the number of processors, but
  /// at least two.
  int lane_threads = 0;
  /// Names of the libraries to enable ("blas", "memory"); empty enables all.
  std::vector<std::string> libraries{};
  /// How libraries compute that have several methods.
  library_methods methods{};
  /// How many workers may be replaced within the window; the next failure stops the device. A loss
  /// does not count if a request was identified as its cause, if the worker was killed from
  /// outside, or if a request exceeded its run limit. More than three failures in a row with no
  /// request that ended well in between stop the device, too, when they last longer than the
  /// window. Before the first worker has been ready, at most three starts may fail.
  restart_budget restarts{.restarts = 20, .window = std::chrono::minutes(5)};
  /// The delay before a replacement. The first replacement is immediate. The delay grows with the
  /// number of losses that counted within the window, and with the number of consecutive losses
  /// since a request last succeeded.
  troupe::backoff backoff{};
  /// A worker that is not ready after this time counts as a failed start. A worker that reports
  /// each step of its start has this time for every step.
  std::chrono::nanoseconds start_timeout = std::chrono::seconds(20);
  /// If a worker with pending work makes no progress, the device sends it a liveness query. A
  /// worker that does not answer within this time is replaced.
  std::chrono::nanoseconds silence_timeout = std::chrono::seconds(1);
  /// Default for `request_options::run_limit`. A request that runs longer counts as hung and is
  /// ended together with its worker. `max()` means no limit. `isolation::thread` ignores this
  /// default: there, only a limit set in the request applies.
  std::chrono::nanoseconds run_limit = std::chrono::minutes(10);
  /// How long a request is refused after it has ended two workers. Two requests are the same if
  /// their bytes and the content that they read are the same (`device::quarantine`). Each further
  /// fault doubles the time, up to one hour. Zero disables quarantine.
  std::chrono::nanoseconds quarantine = std::chrono::minutes(1);
  /// Enables `fault::inject` and `fault::spin_until`, for tests and demonstrations.
  bool fault_injection = false;
  /// Hears of each request, see `request_tracer` and `trace_file`; null costs nothing.
  std::shared_ptr<request_tracer> tracer{};
  /// Records each request, and the data that it exchanges with the program, to be run again, see
  /// `request_journal`; null costs nothing.
  std::shared_ptr<request_journal> journal{};
  fault_journal_options fault_journal{};
  /// Path of the worker executable; if empty, Troupe looks beside its own library.
  std::string worker_path{};
  /// Starts the workers, instead of a worker executable; null for none. Several devices may have
  /// the same.
  std::shared_ptr<fork_server> forked_by{};
  /// The environment of workers, as "NAME=value"; null for that of the program as it is when a
  /// worker starts, which must not change at that moment.
  std::shared_ptr<const std::vector<std::string>> worker_environment{};
  /// Path of the backend plugin; if empty, Troupe looks beside its own library.
  std::string backend_path{};
  /// Paths of plugins with the user's own operations, built by `troupe_add_plugin`. Give the file
  /// for the CPU; with CUDA, `libmy_ops-cuda.so` beside `libmy_ops.so` is loaded instead. Every
  /// worker must load all of them, or the device does not start. A relative path is resolved
  /// against the program's working directory at the time the device is made.
  /// \errors when the device starts: `library_missing` for a file that does not exist, cannot be
  /// loaded or is not a plugin; `version_mismatch` for a plugin built for another version of
  /// Troupe; `invalid_argument` for an operation whose name is taken or belongs to one of Troupe's
  /// own libraries.
  std::vector<std::string> plugins{};
  /// Keys and contents that libraries find as if an earlier worker had left them (`kept_blobs`):
  /// plans, and choices of algorithms. A replay gives those of its journal.
  std::vector<std::pair<std::vector<std::byte>, std::vector<std::byte>>> blobs{};
  /// Adds the program's own operations. The program must also pass this function to `worker_entry`;
  /// its own executable is then the worker, unless `worker_path` is set.
  void (*own_operations)(operation_table&) = nullptr;
};

}  // namespace troupe
