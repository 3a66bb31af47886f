#include "worker/host.hpp"

namespace troupe::worker {

result<std::unique_ptr<host>> host::start(const parts& p, operation_table operations) {
  auto requests = inbox::open(p.mailbox, p.mailbox_bytes);
  if (!requests) return std::move(requests).error();
  return std::unique_ptr<host>(new host(p, *std::move(requests), std::move(operations)));
}

host::host(const parts& p, inbox requests, operation_table operations)
    : operations_(std::move(operations)),
      inbox_(std::move(requests)),
      outbox_(p.segment, p.mailbox, p.bells, p.program_wakes),
      lanes_({.requests = inbox_,
              .answers = outbox_,
              .operations = operations_,
              .ranges = p.ranges,
              .bells = *p.bells,
              .worker = p.worker,
              .threads = p.lane_threads,
              .in_process = p.in_process}) {}

}  // namespace troupe::worker
