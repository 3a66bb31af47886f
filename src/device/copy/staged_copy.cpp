#include "device/copy/staged_copy.hpp"

#include "base/short_of_memory.hpp"
#include "device/copy/streaming_copy.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace troupe {
namespace {

// A GPU's link carries 4 MiB in 75 us, and each piece costs up to 3 us of that. A copy in begins
// with small pieces, so that the device starts early; a copy out ends with small pieces, so that
// the program does not wait long for the last. In between, pieces grow with what precedes them, or
// halve with what is left.
constexpr std::size_t smallest_piece_bytes = std::size_t{512} << 10;
constexpr std::size_t usual_piece_bytes = std::size_t{4} << 20;
// Enough to keep the link busy; with more, staged bytes leave the caches before the device reads
// them.
constexpr std::size_t most_stages = 8;
// Small for a processor, so that all finish a piece at about the same time.
constexpr std::size_t part_bytes = std::size_t{64} << 10;
// Up to this size, another thread is not worth the way.
constexpr std::size_t done_at_once_bytes = std::size_t{128} << 10;
// A copy takes at most 1 / this of the mailbox, so that other requests go on.
constexpr std::size_t share_of_mailbox = 4;

// A copy in writes this much past the caches: the device reads it before its lines could move.
constexpr std::size_t ramp_bytes = std::size_t{4} << 20;

}  // namespace

future<void> staged_copy::in(std::shared_ptr<device_endpoint> core, std::span<const std::byte> from,
                             const any_tensor& to) {
  auto copy = std::make_shared<staged_copy>(std::move(core), to, true);
  copy->source_ = from.data();
  return copy->start();
}

future<void> staged_copy::out(std::shared_ptr<device_endpoint> core, const any_tensor& from,
                              std::span<std::byte> to) {
  auto copy = std::make_shared<staged_copy>(std::move(core), from, false);
  copy->target_ = to.data();
  return copy->start();
}

staged_copy::staged_copy(std::shared_ptr<device_endpoint> core, const any_tensor& device_side,
                         bool inwards)
    : core_(std::move(core)),
      tensor_(device_side),
      inwards_(inwards),
      bytes_(static_cast<std::size_t>(device_side.count() * size_of(device_side.type()))),
      lane_(core_->lanes_of("memory").lanes->pick()),
      done_(&core_->driver()) {
  const std::size_t most_pieces = std::max<std::size_t>(core_->capacity() / share_of_mailbox, 1);
  largest_piece_ = std::max(usual_piece_bytes, bytes_ / most_pieces);
  std::size_t count = 0;
  for (std::size_t begin = 0; begin < bytes_; begin += piece_bytes_at(begin))
    ++count;
  pieces_ = std::vector<piece>(count);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < count; ++i) {
    piece& p = pieces_[i];
    p.copy = this;
    p.number = i;
    p.begin = begin;
    p.end = begin += piece_bytes_at(begin);
  }
}

std::size_t staged_copy::piece_bytes_at(std::size_t begin) const noexcept {
  const std::size_t left = bytes_ - begin;
  if (!tensor_.packed()) return left;
  const std::size_t wanted =
      std::clamp(inwards_ ? 2 * begin : left / 2, smallest_piece_bytes, largest_piece_);
  const auto element = static_cast<std::size_t>(size_of(tensor_.type()));
  return std::min(left, wanted / element * element);
}

future<void> staged_copy::start() {
  future<void> answer = done_.get_future();
  result<void> sent;
  try {
    sent = send_all();
  } catch (const std::bad_alloc&) {
    sent = no_host_memory();  // pieces may be in flight, using the caller's memory
  }
  end_one(sent ? std::nullopt : std::optional(std::move(sent).error()));
  return answer;
}

result<void> staged_copy::send_all() {
  if (auto allocated = allocate_stages(); !allocated) return allocated;
  for (piece& p : pieces_) {
    if (auto sent = send(p); !sent) return sent;
  }
  return {};
}

result<void> staged_copy::allocate_stages() {
  stages_.resize(std::min(pieces_.size(), most_stages));
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    std::size_t bytes = 0;
    for (std::size_t n = i; n < pieces_.size(); n += stages_.size())
      bytes = std::max(bytes, pieces_[n].end - pieces_[n].begin);
    auto memory = core_->allocate(memory_space::host, bytes);
    if (!memory) return std::move(memory).error();
    const auto elements = static_cast<std::int64_t>(bytes) / size_of(tensor_.type());
    stages_[i] = any_tensor::owned(*std::move(memory), tensor_.type(), shape{elements});
    pieces_[i].has_stage = true;
  }
  return {};
}

any_tensor staged_copy::stage_of(const piece& p) const {
  const any_tensor& stage = stages_[p.number % stages_.size()];
  const std::int64_t bytes = static_cast<std::int64_t>(p.end - p.begin);
  const any_tensor filled = *stage.slice(0, 0, bytes / size_of(tensor_.type()));
  return pieces_.size() == 1 ? *filled.reshape(shape(tensor_.extents())) : filled;
}

any_tensor staged_copy::device_side_of(const piece& p) const {
  if (pieces_.size() == 1) return tensor_;
  const std::int64_t element = size_of(tensor_.type());
  const any_tensor flat = *tensor_.reshape(shape{tensor_.count()});
  return *flat.slice(0, static_cast<std::int64_t>(p.begin) / element,
                     static_cast<std::int64_t>(p.end) / element);
}

result<void> staged_copy::send(piece& p) {
  // The caller stages short pieces at once.
  const bool staged = inwards_ && bytes_ <= done_at_once_bytes;
  if (staged) copy_bytes(p, p.begin, p.end);
  memory::copy request{.from = stage_of(p), .to = device_side_of(p)};
  if (!inwards_) std::swap(request.from, request.to);
  const bool open = inwards_ ? staged : p.number < stages_.size();
  detail::completion done = [self = shared_from_this(), &p](const std::byte*, error* failure) {
    self->on_done(p, failure);
  };
  {
    const std::lock_guard lock(mutex_);
    ++under_way_;
  }
  // A refusal calls `done`, too.
  auto sent = send_piece(p, request, std::move(done), open);
  if (!sent) return std::move(sent).error();
  if (open) return {};
  bool ready = false;
  {
    const std::lock_guard lock(mutex_);
    p.slot = sent->slot;
    p.sent = true;
    ready = p.has_stage;
  }
  if (ready) begin(p);
  return {};
}

// Exceptions come before the request is published.
auto staged_copy::send_piece(const piece& p, const memory::copy& request, detail::completion done,
                             bool open) -> result<device_endpoint::sent_request> {
  try {
    return core_->send(
        request_type_of<memory::copy>(), &request, {}, std::move(done),
        {.lane = lane_,
         .full = p.number == 0 ? device_endpoint::if_full::as_configured
                               : device_endpoint::if_full::wait,
         .next = p.end < bytes_ ? device_endpoint::next_in_lane::follows
                                : device_endpoint::next_in_lane::is_unknown,
         .as = open ? device_endpoint::sent_as::open : device_endpoint::sent_as::closed});
  } catch (const std::bad_alloc&) {
    end_one(no_host_memory());
    return no_host_memory();
  }
}

// The previous piece of the stage does not need it any more.
void staged_copy::give_stage(std::size_t number) {
  if (number >= pieces_.size()) return;
  piece& p = pieces_[number];
  bool ready = false;
  {
    const std::lock_guard lock(mutex_);
    p.has_stage = true;
    ready = p.sent;
  }
  if (ready) begin(p);
}

// For a piece that was sent closed and now owns its stage.
void staged_copy::begin(piece& p) {
  if (!inwards_) return open(p);
  {
    // A reference beside the piece's own: a device that stops ends the piece while its bytes move.
    const std::lock_guard lock(mutex_);
    ++under_way_;
  }
  move_bytes(p);
}

// With the mutex, so that the device does not reuse the slot meanwhile.
void staged_copy::open(piece& p) {
  const std::lock_guard lock(mutex_);
  if (!p.lost) core_->open(p.slot);
}

// Moves bytes between the program's memory and the stage.
void staged_copy::move_bytes(piece& p) {
  const auto parts = static_cast<std::uint32_t>((p.end - p.begin + part_bytes - 1) / part_bytes);
  p.parts_left.store(parts, std::memory_order_relaxed);
  core_->copiers().add({shared_from_this(), &p}, parts);
}

void staged_copy::piece::do_part(std::uint32_t part) noexcept {
  const std::size_t from = begin + part * part_bytes;
  copy->copy_bytes(*this, from, std::min(end, from + part_bytes));
  if (parts_left.fetch_sub(1, std::memory_order_acq_rel) == 1) copy->on_moved(*this);
}

void staged_copy::copy_bytes(const piece& p, std::size_t begin, std::size_t end) const noexcept {
  std::byte* const staged = stages_[p.number % stages_.size()].address() + (begin - p.begin);
  std::byte* const to = inwards_ ? staged : target_ + begin;
  const std::byte* const from = inwards_ ? source_ + begin : staged;
  if (!core_->memory().on_device()) {
    std::memcpy(to, from, end - begin);
  } else if (inwards_ && (begin < ramp_bytes || !can_share_lines())) {
    copy_past_caches(to, from, end - begin);
  } else if (inwards_) {
    copy_into_shared_cache(to, from, end - begin);
  } else {
    copy_from_device(to, from, end - begin);
  }
}

void staged_copy::on_moved(piece& p) {
  if (inwards_) {
    open(p);
  } else {
    give_stage(p.number + stages_.size());
  }
  end_one(std::nullopt);
}

// With the reactor's role, or for a piece that was refused.
void staged_copy::on_done(piece& p, error* failure) {
  if (inwards_ || failure != nullptr) {
    if (failure != nullptr && core_->gone()) {
      const std::lock_guard lock(mutex_);
      p.lost = true;
    }
    give_stage(p.number + stages_.size());
    return end_one(failure != nullptr ? std::optional(std::move(*failure)) : std::nullopt);
  }
  if (bytes_ > done_at_once_bytes) return move_bytes(p);
  copy_bytes(p, p.begin, p.end);
  end_one(std::nullopt);
}

void staged_copy::end_one(std::optional<error> failure) {
  {
    const std::lock_guard lock(mutex_);
    if (failure && !failure_) failure_ = std::move(failure);
    if (--under_way_ != 0) return;
  }
  // The next copy gets the last stage given back first: this copy used it first, so it is the least
  // likely to be in a processor's own cache.
  while (!stages_.empty())
    stages_.pop_back();
  if (failure_) {
    done_.set_error(*std::move(failure_));
  } else {
    done_.set_value();
  }
}

}  // namespace troupe
