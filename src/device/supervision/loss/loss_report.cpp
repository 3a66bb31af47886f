#include "device/supervision/loss/loss_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

namespace troupe {

void loss_report::begin(device_event lost, clock::time_point at) {
  const std::lock_guard lock(mutex_);
  lost_ = std::move(lost);
  known_ = {};
  due_ = at + longest_wait;
}

void loss_report::explain(const error& why) {
  const std::lock_guard lock(mutex_);
  if (lost_) lost_->why = why;
}

void loss_report::add(settlement::consequences one) {
  if (known_.culprit.empty()) known_.culprit = std::move(one.culprit);
  known_.run_again += one.run_again;
  known_.failed += one.failed;
  known_.tainted += one.tainted;
  std::ranges::move(one.quarantined, std::back_inserter(known_.quarantined));
}

void loss_report::finish(std::int32_t spent, std::chrono::nanoseconds wait) {
  std::vector<device_event> all;
  const settlement::consequences known = std::exchange(known_, {});
  due_ = clock::time_point::max();
  const std::lock_guard lock(mutex_);
  if (lost_) {
    lost_->count = known.run_again;
    lost_->failed = known.failed;
    lost_->spent = spent;
    lost_->wait = wait;
    if (lost_->why) lost_->why->request = known.culprit;
    device_event tainted{.what = device_event::kind::tainted,
                         .generation = lost_->generation,
                         .count = known.tainted,
                         .why = lost_->why};
    journal_.record(*std::exchange(lost_, std::nullopt));
    if (known.tainted > 0) journal_.record(std::move(tainted));
  }
  for (const quarantined_request& one : known.quarantined) {
    journal_.record({.what = device_event::kind::quarantined,
                     .wait = one.until - one.since,
                     .count = one.faults,
                     .why = error{.code = errc::poisonous,
                                  .message = fmt::format("it has ended {} workers", one.faults),
                                  .request = one.request}});
  }
  for (device_event& e : std::exchange(later_, {}))
    journal_.record(std::move(e));
}

void loss_report::record(device_event e) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    if (lost_) return later_.push_back(std::move(e));
  } catch (const std::bad_alloc&) {
  }
  journal_.record(std::move(e));
}

}  // namespace troupe
