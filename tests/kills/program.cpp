#include "program.hpp"

#include <limits>

namespace troupe::kills {

using namespace std::chrono_literals;

program::program(journal& fates, std::uint32_t capacity)
    : operations_(operations_noting(fates)), environment_(operations_) {
  environment_.on_start = [this](const forked_worker& worker, const worker_plan& plan) {
    requests_ = plan.requests;
    wakes_ = plan.program_wakes;
    if (worker.number() == 1) segment_of_first_ = &worker.segment_memory();
  };
  host_memory_ = memory_pool::create(
                     {.space = memory_space::host, .limit_bytes = 1 << 20, .granule_bytes = 4096})
                     .value();
  // Nothing limits how often a worker may be lost here, and nothing is waited for before the next.
  const device_config config{
      .mailbox_capacity = capacity,
      .mailbox_bytes = 1 << 16,
      .memory_limit_bytes = 1 << 20,
      .restarts = {.restarts = std::numeric_limits<std::int32_t>::max(), .window = 1ms},
      .backoff = {.initial = 0ms}};
  core_ = local_device::create_with({.plugin = "forks", .description = {.name = "forks"}}, 0,
                                    config, host_memory_, environment_)
              .value();
  for (any_tensor& cell : cells_) {
    cell = any_tensor::owned(core_->allocate(memory_space::device, sizeof(std::int64_t)).value(),
                             dtype::i64, {1});
  }
}

program::~program() {
  cells_ = {};
  core_.reset();
}

void program::start() {
  while (core_->supervision().generation() == 0)
    core_->supervision().take_turn();
  core_->supervision().take_turn();
}

program::drawn program::draw(std::mt19937_64& random, std::int64_t number) {
  return {.number = number,
          .lane = static_cast<std::uint8_t>(random() % lanes),
          .adds = random() % 4 != 0};
}

result<void> program::send(const drawn& what, std::int64_t pauses, detail::completion said) {
  const auto hand_over = [&]<class Request>(Request request) {
    return detail::send(*core_, request_type_of<Request>(), &request, {}, what.lane,
                        std::move(said));
  };
  const any_tensor& cell = cells_[what.lane];
  return what.adds ? hand_over(add{.cell = cell, .number = what.number, .pauses = pauses})
                   : hand_over(put{.cell = cell, .number = what.number, .pauses = pauses});
}

future<std::int64_t> program::ask(const drawn& what, std::int64_t pauses) {
  const any_tensor& cell = cells_[what.lane];
  return what.adds ? detail::ask(*core_, add{.cell = cell, .number = what.number, .pauses = pauses},
                                 {}, what.lane)
                   : detail::ask(*core_, put{.cell = cell, .number = what.number, .pauses = pauses},
                                 {}, what.lane);
}

}  // namespace troupe::kills
