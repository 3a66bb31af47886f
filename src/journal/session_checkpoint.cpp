// A replay that begins at a checkpoint of its journal.
#include "journal/session.hpp"

#include <troupe/memory/copy.hpp>
#include <troupe/request/catalogue.hpp>

#include <fmt/format.h>

#include <cstring>

namespace troupe::journal {

// The last one before what is compared.
void session::find_checkpoint() {
  for (const checkpoint_note& one : of_.checkpoints) {
    if (one.last < options_.from && one.last < last_ && (!begin_ || one.last > begin_->last) &&
        is_whole(one)) {
      begin_ = one;
    }
  }
  if (!begin_) return;
  report_.remarks.push_back(
      fmt::format("device {}: begins at the checkpoint behind request {}", number_, begin_->last));
}

// True if all copies of it have ended well, and their data are there.
bool session::is_whole(const checkpoint_note& one) const {
  std::uint64_t count = 0;
  for (auto at = of_.requests.lower_bound(one.first);
       at != of_.requests.end() && at->first <= one.last; ++at, ++count) {
    const noted_request& r = at->second;
    if (r.about.type != request_type_of<memory::copy>().id || !r.end || r.end->failed != 0) {
      return false;
    }
    auto decoded = memory_.decode(request_type_of<memory::copy>(), r.frame);
    if (!decoded) return false;
    const any_tensor& to = static_cast<const memory::copy*>(decoded->request.data())->to;
    const auto wanted = static_cast<std::uint64_t>(to.count());
    const footprint::place place = memory_.place_of(to);
    const auto bytes = recorded_bytes(r, place.pool, place.offset, wanted);
    if (to.type() != dtype::u8 || !bytes || !*bytes) return false;
  }
  return count == one.last - one.first + 1;
}

// Gives host memory what a request read and wrote there, without running it. A copy of the
// checkpoint also gives device memory what it has copied.
result<void> session::restore(const noted_request& r) {
  for (const auto* const all : {&r.contents, &r.seen}) {
    for (const bytes_note& one : *all) {
      if (one.pool != wire::host_pool) continue;
      auto bytes = file_.bytes(one);
      if (!bytes && options_.over_gaps) continue;
      if (!bytes) return std::move(bytes).error();
      auto there = memory_.bytes_at(one.pool, one.offset, one.bytes);
      if (!there) return unusable(r, errc::invalid_argument, there.error().message);
      std::memcpy(there->address(), bytes->data(), bytes->size());
    }
  }
  if (r.about.ticket < begin_->first) return {};
  auto decoded = memory_.decode(request_type_of<memory::copy>(), r.frame);
  if (!decoded) return unusable(r, errc::invalid_argument, decoded.error().message);
  const auto& copy = *static_cast<const memory::copy*>(decoded->request.data());
  const footprint::place from = memory_.place_of(copy.from);
  const footprint::place to = memory_.place_of(copy.to);
  const auto count = static_cast<std::uint64_t>(copy.to.count());
  auto bytes = recorded_bytes(r, to.pool, to.offset, count);
  if (!bytes) return std::move(bytes).error();
  auto there = memory_.bytes_at(from.pool, from.offset, count);
  if (!there) return unusable(r, errc::invalid_argument, there.error().message);
  return device_->copy_in(dtype::u8, **bytes, *there).get_result();
}

}  // namespace troupe::journal
