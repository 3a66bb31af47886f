#include "worker/process/worker_runtime.hpp"

#include "worker/queues/stream_lanes.hpp"
#include "worker/threads/lanes.hpp"

#include <fmt/format.h>

#include <thread>

namespace troupe::worker {
namespace {

// Submitters spin while they have work; with few processors that costs more than it gains.
int submitters_for(unsigned processors) noexcept {
  constexpr int most = 3;  // a driver serves few threads at once
  if (processors >= 8) return most;
  return processors >= 4 ? 1 : 0;
}

}  // namespace

result<std::unique_ptr<worker_runtime>> worker_runtime::start(const parts& p,
                                                              std::unique_ptr<engine> backend) {
  auto requests = inbox::open(p.mailbox, p.mailbox_bytes);
  if (!requests) return std::move(requests).error();
  if (p.segment_bytes < wire::worker_segment_bytes(requests->capacity())) {
    return error{.code = errc::protocol_violation,
                 .message = fmt::format("a segment of {} bytes for {} slots", p.segment_bytes,
                                        requests->capacity())};
  }
  if (backend->accelerator() != nullptr) {
    // The backend's queues write marks and replies there.
    auto* const segment = reinterpret_cast<std::byte*>(p.segment);
    auto shared = backend->share(segment, wire::reply_heap_offset(requests->capacity()));
    if (!shared) return std::move(shared).error();
  }
  if (auto works = backend->warm_up(p.warm_first); !works) return std::move(works).error();
  if (backend->still_cold().empty() && p.warm) p.warm();
  return std::unique_ptr<worker_runtime>(
      new worker_runtime(p, *std::move(requests), std::move(backend)));
}

worker_runtime::worker_runtime(const parts& p, inbox requests, std::unique_ptr<engine> backend)
    : engine_(std::move(backend)),
      inbox_(std::move(requests)),
      outbox_(p.segment, p.mailbox, p.bells, p.program_wakes) {
  engine_->graphs().report_to(*p.segment);
  if (accelerator* device = engine_->accelerator()) {
    lanes_ = std::make_unique<stream_lanes>(
        stream_lanes::parts{.requests = inbox_,
                            .answers = outbox_,
                            .operations = engine_->operations(),
                            .ranges = engine_->ranges(),
                            .memory_version = engine_->memory_version(),
                            .device = *device,
                            .lanes = engine_->take_lanes(),
                            .bells = *p.bells,
                            .worker = p.worker,
                            .in_process = p.in_process,
                            .blobs = engine_->blobs(),
                            .submitters = submitters_for(std::thread::hardware_concurrency()),
                            .cold = engine_->still_cold(),
                            .warm_lanes = engine::warm_lanes,
                            .lost = p.lost,
                            .warm = p.warm});
  } else {
    lanes_ = std::make_unique<threaded_lanes>(
        threaded_lanes::parts{.requests = inbox_,
                              .answers = outbox_,
                              .operations = engine_->operations(),
                              .ranges = engine_->ranges(),
                              .bells = *p.bells,
                              .memory_version = &engine_->memory_version(),
                              .worker = p.worker,
                              .threads = p.lane_threads,
                              .in_process = p.in_process,
                              .blobs = engine_->blobs(),
                              .methods = engine_->methods()});
  }
}

}  // namespace troupe::worker
