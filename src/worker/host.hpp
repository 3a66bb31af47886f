#pragma once

#include "wire/codec.hpp"
#include "worker/inbox.hpp"
#include "worker/lanes.hpp"
#include "worker/outbox.hpp"

#include <memory>

namespace troupe::worker {

/// One worker, wherever it runs: inbox, lanes and outbox over shared memory that is mapped already.
class host {
 public:
  struct parts {
    const wire::mailbox_header* mailbox = nullptr;
    std::size_t mailbox_bytes = 0;
    wire::doorbells* bells = nullptr;
    wire::worker_header* segment = nullptr;
    int program_wakes = -1;  ///< eventfd
    wire::address_ranges ranges;
    std::uint64_t worker = 0;
    int lane_threads = 2;
    bool in_process = true;
  };

  /// Starts the lanes; they wait for their activation.
  /// \errors of `inbox::open`
  [[nodiscard]] static result<std::unique_ptr<host>> start(const parts& p,
                                                           operation_table operations);

  void stop() noexcept { lanes_.stop(); }

 private:
  host(const parts& p, inbox requests, operation_table operations);

  operation_table operations_;
  inbox inbox_;
  outbox outbox_;
  threaded_lanes lanes_;
};

}  // namespace troupe::worker
