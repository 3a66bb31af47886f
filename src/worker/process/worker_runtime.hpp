#pragma once

#include "worker/intake/inbox.hpp"
#include "worker/intake/outbox.hpp"
#include "worker/process/engine.hpp"
#include "worker/threads/lane_runner.hpp"

#include <functional>
#include <memory>

namespace troupe::worker {

/// One worker, in a process of its own or in the program: backend, inbox, lanes and outbox over
/// shared memory that is mapped already.
class worker_runtime {
 public:
  struct parts {
    const wire::mailbox_header* mailbox = nullptr;
    std::size_t mailbox_bytes = 0;
    std::size_t segment_bytes = 0;
    wire::doorbells* bells = nullptr;
    wire::worker_header* segment = nullptr;
    int program_wakes = -1;  ///< eventfd
    std::uint64_t worker = 0;
    int lane_threads = 2;
    bool in_process = true;
    bool warm_first = true;  ///< it is ready only once it is warm
    /// Called from a thread of the worker when its accelerator's context is lost.
    std::function<void(error)> lost{};
    /// Called once, from any thread of the worker, when it is warm.
    std::function<void()> warm{};
  };

  /// Starts the lanes; they wait for their activation.
  /// \errors of `inbox::open`; `protocol_violation` for a segment that is too small for all replies
  [[nodiscard]] static result<std::unique_ptr<worker_runtime>> start(
      const parts& p, std::unique_ptr<engine> backend);

  void stop() noexcept { lanes_->stop(); }
  [[nodiscard]] engine& backend() noexcept { return *engine_; }

 private:
  worker_runtime(const parts& p, inbox requests, std::unique_ptr<engine> backend);

  std::unique_ptr<engine> engine_;
  inbox inbox_;
  outbox outbox_;
  std::unique_ptr<lane_runner> lanes_;
};

}  // namespace troupe::worker
