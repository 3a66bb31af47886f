#include "device/staged_copy.hpp"

#include <troupe/ops/memory/copy.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

namespace troupe {
namespace {

// Large enough that the cost of a request vanishes. A crew begins, and ends, with smaller ones, so
// that the device does not wait for the first nor the program for the last.
constexpr std::size_t piece_bytes = std::size_t{1} << 20;
constexpr std::size_t smallest_crew_piece_bytes = std::size_t{256} << 10;
constexpr std::size_t largest_crew_piece_bytes = std::size_t{4} << 20;
constexpr std::uint32_t least_in_flight = 4;
// For each of a crew that is at it there is one with the worker.
constexpr std::uint32_t in_flight_per_thread = 2;
// Not worth the way to another thread, which takes some 10 µs.
constexpr std::size_t done_at_once_bytes = std::size_t{128} << 10;
// Between looks for room, when nothing of the copy is in flight that would make some.
constexpr auto pause_without_room = std::chrono::microseconds(50);

}  // namespace

future<void> staged_copy::in(std::shared_ptr<device_core> core, std::span<const std::byte> from,
                             const any_tensor& to) {
  auto copy = std::make_shared<staged_copy>(std::move(core), to);
  copy->source_ = from.data();
  return copy->start();
}

future<void> staged_copy::out(std::shared_ptr<device_core> core, const any_tensor& from,
                              std::span<std::byte> to) {
  auto copy = std::make_shared<staged_copy>(std::move(core), from);
  copy->target_ = to.data();
  return copy->start();
}

staged_copy::staged_copy(std::shared_ptr<device_core> core, const any_tensor& device_side)
    : core_(std::move(core)),
      tensor_(device_side),
      bytes_(static_cast<std::size_t>(device_side.count() * size_of(device_side.type()))),
      in_pieces_(tensor_.packed() && !core_->completions().has_role() &&
                 !core_->watch().is_this_thread()),
      lane_(core_->lanes_of("memory")->pick()),
      unsent_(bytes_),
      done_(&core_->completions()),
      sent_(&core_->completions()) {}

future<void> staged_copy::start() {
  future<void> answer = done_.get_future();
  future<void> all_sent = sent_.get_future();
  if (bytes_ == 0) sent_.set_value();
  // This count keeps the copy from ending before all of its first pieces are under way.
  in_flight_ = 1;
  const std::uint32_t wanted =
      std::max(least_in_flight, in_flight_per_thread * core_->crew().most_threads());
  for (std::uint32_t i = 0; i < std::min(wanted, core_->mailbox_capacity()); ++i) {
    std::optional<piece> p = next_piece();
    if (!p) break;
    if (source_ != nullptr && p->begin != 0) {
      core_->crew().post([self = shared_from_this(), next = *std::move(p)]() mutable {
        (void)self->launch(std::move(next));
      });
    } else if (!launch(*std::move(p))) {
      break;
    }
  }
  end_one(std::nullopt);
  all_sent.wait();
  return answer;
}

// Of the piece that begins at `next_`.
std::size_t staged_copy::next_piece_bytes() const noexcept {
  const std::size_t left = bytes_ - next_;
  if (!in_pieces_) return left;
  std::size_t bytes = piece_bytes;
  if (core_->crew().most_threads() > 0) {
    // An eighth of the way from the beginning, or to the end.
    const std::size_t way = source_ != nullptr ? next_ : left;
    bytes = std::clamp(way / 8, smallest_crew_piece_bytes, largest_crew_piece_bytes);
  }
  const auto element = static_cast<std::size_t>(size_of(tensor_.type()));
  return std::min(left, bytes / element * element);
}

void staged_copy::note_sent(std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    unsent_ -= bytes;
    if (unsent_ != 0 || failure_) return;  // a failure has said so already
  }
  sent_.set_value();
}

std::optional<staged_copy::piece> staged_copy::next_piece() {
  piece p;
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return std::nullopt;
    if (!turned_away_.empty()) {
      p = std::move(turned_away_.back());
      turned_away_.pop_back();
      ++in_flight_;
      return p;
    }
    if (next_ >= bytes_) return std::nullopt;
    p.begin = next_;
    p.end = next_ = next_ + next_piece_bytes();
    ++in_flight_;
  }
  if (p.end - p.begin == bytes_) {
    p.device_side = tensor_;
  } else {
    const std::int64_t element = size_of(tensor_.type());
    const auto flat = tensor_.reshape(shape{tensor_.count()});
    p.device_side = *flat->slice(0, static_cast<std::int64_t>(p.begin) / element,
                                 static_cast<std::int64_t>(p.end) / element);
  }
  auto staging = core_->allocate(memory_space::host, p.end - p.begin);
  if (!staging) {
    end_one(std::move(staging).error());
    return std::nullopt;
  }
  p.staging =
      any_tensor::owned(*std::move(staging), tensor_.type(), shape(p.device_side.extents()));
  return p;
}

// False when there is no room: the piece is put back.
bool staged_copy::launch(piece p) {
  memory::copy request;
  if (source_ != nullptr) {
    std::memcpy(p.staging.address(), source_ + p.begin, p.end - p.begin);
    request.from = p.staging;
    request.to = p.device_side;
  } else {
    request.from = p.device_side;
    request.to = p.staging;
  }
  const bool first = p.begin == 0;
  const std::size_t bytes = p.end - p.begin;
  auto kept = std::make_unique<piece>(std::move(p));
  piece& launched = *kept;
  completion done = [self = shared_from_this(), p = std::move(kept)](const std::byte*,
                                                                     error* failure) {
    self->on_done(std::move(*p), failure);
  };
  const auto sent =
      core_->send(request_type_of<memory::copy>(), &request, {}, lane_, std::move(done),
                  first ? device_core::no_room::as_configured : device_core::no_room::come_again);
  if (sent) note_sent(bytes);
  if (sent || first || sent.error().code != errc::mailbox_full) return true;
  {
    const std::lock_guard lock(mutex_);
    turned_away_.push_back(std::move(launched));
  }
  end_one(std::nullopt);
  return false;
}

void staged_copy::on_done(piece p, error* failure) {
  if (failure != nullptr) return end_one(std::move(*failure));
  if (p.end - p.begin <= done_at_once_bytes) return bring_home(std::move(p));
  core_->crew().post([self = shared_from_this(), done = std::move(p)]() mutable {
    self->bring_home(std::move(done));
  });
}

void staged_copy::bring_home(piece p) {
  if (target_ != nullptr) {
    std::memcpy(target_ + p.begin, p.staging.address(), p.end - p.begin);
  }
  p.staging = {};
  come_again();
}

// Launches the next piece, if there is one, in the place of one that has ended.
void staged_copy::come_again() {
  if (std::optional<piece> next = next_piece()) (void)launch(*std::move(next));
  end_one(std::nullopt);
}

void staged_copy::end_one(std::optional<error> failure) {
  bool gives_up = false;
  bool last = false;
  bool waits_for_room = false;
  {
    const std::lock_guard lock(mutex_);
    if (failure && !failure_) {
      failure_ = std::move(failure);
      gives_up = unsent_ != 0;
    }
    last = --in_flight_ == 0;
    waits_for_room = last && !failure_ && !turned_away_.empty();
    if (waits_for_room) in_flight_ = 1;
  }
  if (gives_up) sent_.set_value();
  if (!last) return;
  if (waits_for_room) {
    // By the device thread, which others do not wait for: this one may have the reactor's role.
    const bool comes = core_->watch().execute([self = shared_from_this()] {
      std::this_thread::sleep_for(pause_without_room);
      self->come_again();
    });
    if (!comes) end_one(core_->watch().stop_reason());
    return;
  }
  if (failure_) {
    done_.set_error(std::move(*failure_));
  } else {
    done_.set_value();
  }
}

}  // namespace troupe
