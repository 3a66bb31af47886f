#include "device/journal/request_notes.hpp"

#include "request/description/table.hpp"
#include "wire/reply.hpp"

#include <troupe/device/events.hpp>
#include <troupe/request/any_request.hpp>
#include <troupe/request/catalogue.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

namespace troupe::journal {
namespace {

constexpr std::size_t send_queue_bytes = std::size_t{8} << 20;
constexpr std::size_t end_queue_bytes = std::size_t{2} << 20;
constexpr std::uint64_t block_bytes = std::uint64_t{4} << 20;
constexpr std::size_t longest_message = 2048;

}  // namespace

std::string build_text(const device_description& d, const memory_pool& device,
                       const memory_pool& host, bool with_faults) {
  return fmt::format(
      "version {}\nprotocol {}\nbackend {}\nname {}\nuuid {}\narchitecture {}\ndevice_range {:x} "
      "{}\nhost_range {:x} {}\nfault_injection {}\n",
      TROUPE_VERSION, wire::protocol_version, device.on_device() ? "cuda" : "cpu", d.name, d.uuid,
      d.architecture, reinterpret_cast<std::uintptr_t>(device.base()), device.bytes(),
      reinterpret_cast<std::uintptr_t>(host.base()), host.bytes(), with_faults ? 1 : 0);
}

void add_blocks(std::vector<block>& to, std::uint16_t device, note what, const bytes_note& about,
                const std::byte* from) {
  for (std::uint64_t done = 0; done < about.bytes;) {
    const std::uint64_t here = std::min(about.bytes - done, block_bytes);
    block one{.device = device,
              .what = what,
              .about = about,
              .bytes = std::make_unique_for_overwrite<std::byte[]>(here)};
    one.about.offset += done;
    one.about.bytes = here;
    std::memcpy(one.bytes.get(), from + done, here);
    to.push_back(std::move(one));
    done += here;
  }
}

request_notes::request_notes(const parts& of)
    : writer_(of.writer),
      device_(of.device),
      device_memory_(*of.device_memory),
      host_memory_(*of.host_memory),
      with_contents_(of.writer->options().data == journal_options::stored::contents),
      sends_(send_queue_bytes),
      ends_(end_queue_bytes),
      tickets_(of.capacity),
      told_blobs_(wire::most_blobs) {
  if (auto pages = os::map(*of.blobs, wire::blob_memory_bytes, os::protection::read)) {
    blob_pages_ = *std::move(pages);
    blobs_.emplace(blob_pages_.address(), blob_pages_.bytes());
  }
  writer_->add(*this, device_,
               build_text(*of.description, device_memory_, host_memory_, of.with_faults) +
                   (with_contents_ ? "contents 1\n" : "contents 0\n"));
}

request_notes::~request_notes() { writer_->remove(*this); }

auto request_notes::being_sent() noexcept -> sending& {
  thread_local sending one;
  return one;
}

void request_notes::begin(const record& r, std::uint16_t slot, std::span<const std::byte> frame,
                          bool is_open, bool is_part) noexcept {
  sending& one = being_sent();
  one.at = nullptr;
  one.gap = false;
  one.is_open = is_open;
  one.is_part = is_part;
  if (writer_->stopped()) return;
  one.bytes = sizeof(frame_note) + frame.size();
  while ((one.at = sends_.reserve(one.bytes)) == nullptr) {
    if (one.bytes < send_queue_bytes / 8 && writer_->await_space()) continue;
    one.gap = true;
    break;
  }
  bool bound = !r.operands.sets().empty();
  bool has_host = false;
  r.operands.for_each([&](const kept_operand& o) { has_host |= o.buffer->owner == &host_memory_; });
  if (has_host) [[unlikely]] {
    try {
      host_.forget(slot);
      r.operands.for_each([&](const kept_operand& o) {
        if (o.buffer->owner != &host_memory_ || o.role == access::read) return;
        host_.will_write(slot, {o.buffer->offset + o.where.begin, o.buffer->offset + o.where.end});
      });
      if (is_open && with_contents_) capture_inputs(r, slot, one);
    } catch (const std::bad_alloc&) {
      one.gap = true;
    }
  }
  if (one.at == nullptr) return;
  const frame_note head{
      .type = r.type,
      .about = {.run_limit_ns = r.run_limit_ns,
                .lane = r.lane,
                .flags = static_cast<std::uint8_t>((is_part ? send_note::is_part : 0) |
                                                   (bound ? send_note::is_bound : 0))}};
  std::memcpy(one.at, &head, sizeof(head));
  std::memcpy(one.at + sizeof(head), frame.data(), frame.size());
}

bool request_notes::sent(std::uint16_t slot, std::uint64_t ticket) noexcept {
  sending& one = being_sent();
  const bool is_due = counts_to_checkpoint(one);
  if (!one.is_open) tickets_[slot] = ticket;
  // Before the note, so that they are in the file before it.
  if (!one.contents.empty()) queue(std::exchange(one.contents, {}), ticket);
  if (one.at != nullptr) {
    std::memcpy(one.at + offsetof(frame_note, about) + offsetof(send_note, ticket), &ticket,
                sizeof(ticket));
    sends_.commit(one.at, one.bytes);
    writer_->note_request();
  }
  if (one.gap) {
    note_gap(ticket, one.at == nullptr ? gap_note::requests : gap_note::contents);
  }
  writer_->wake();
  return is_due;
}

// Captures host memory that a request reads and no request in flight writes. The range of a view is
// taken as a whole: the bytes between its elements do no harm.
void request_notes::capture_inputs(const record& r, std::uint16_t slot, sending& to) {
  std::uint64_t left = writer_->options().most_request_bytes;
  r.operands.for_each([&](const kept_operand& o) {
    if (o.buffer->owner != &host_memory_) return;
    // A write without gaps reads nothing.
    if (o.role == access::write && o.where.pattern == 0) return;
    const host_contents::range whole{o.buffer->offset + o.where.begin,
                                     o.buffer->offset + o.where.end};
    for (const auto& part : host_.left_by_program(whole, slot)) {
      const std::uint64_t bytes = part.end - part.begin;
      if (bytes > left) {
        to.gap = true;
        host_.forget_told();
        continue;
      }
      const std::span<const std::byte> content(host_memory_.base() + part.begin, bytes);
      if (host_.knows(part.begin, content)) continue;
      left -= bytes;
      add_blocks(to.contents, device_, note::content,
                 {.offset = part.begin, .bytes = bytes, .pool = wire::host_pool}, content.data());
      host_.tell(part.begin, content);
    }
  });
}

void request_notes::queue(std::vector<block>&& all, std::uint64_t ticket) noexcept {
  bool lost = false;
  for (block& one : all) {
    one.about.ticket = ticket;
    try {
      lost = !writer_->add(std::move(one)) || lost;
    } catch (const std::bad_alloc&) {
      lost = true;
    }
  }
  if (!lost) return;
  host_.forget_told();
  note_gap(ticket, gap_note::contents);
}

void request_notes::opened(const record& r, std::uint16_t slot) noexcept {
  if (!with_contents_ || writer_->stopped()) return;
  sending one;
  try {
    capture_inputs(r, slot, one);
  } catch (const std::bad_alloc&) {
    one.gap = true;
  }
  const std::uint64_t ticket = tickets_[slot];
  if (!one.contents.empty()) queue(std::move(one.contents), ticket);
  if (one.gap) note_gap(ticket, gap_note::contents);
}

// Only of what the program can have looked at: no later request has overwritten it.
bool request_notes::capture_outputs(const record& r, std::uint16_t slot) {
  if (!with_contents_ || is_mapping(*r.type)) return true;
  std::vector<block> seen;
  std::uint64_t left = writer_->options().most_request_bytes;
  bool all = true;
  r.operands.for_each([&](const kept_operand& o) {
    if (o.role == access::read || o.buffer->owner != &host_memory_) return;
    const std::uint64_t bytes = o.where.end - o.where.begin;
    const std::uint64_t offset = o.buffer->offset + o.where.begin;
    if (host_.is_overwritten(slot, {offset, offset + bytes})) return;
    all = all && bytes <= left;
    if (bytes > left) return;
    left -= bytes;
    add_blocks(seen, device_, note::seen,
               {.offset = offset, .bytes = bytes, .pool = wire::host_pool},
               host_memory_.base() + offset);
  });
  queue(std::move(seen), r.ticket);
  return all;
}

void request_notes::ended(const record& r, std::uint16_t slot, const std::byte* reply,
                          const error* failure) noexcept {
  if (writer_->stopped()) return;
  bool writes_host = false;
  r.operands.for_each([&](const kept_operand& o) {
    writes_host |= o.role != access::read && o.buffer->owner == &host_memory_;
  });
  bool whole = true;
  std::vector<std::byte> described;
  try {
    if (writes_host && failure == nullptr) whole = capture_outputs(r, slot);
    if (reply != nullptr && r.type->described_reply != nullptr) {
      described = wire::encoded_reply(*reinterpret_cast<const any_value*>(reply));
    }
  } catch (const std::bad_alloc&) {
    whole = false;
  }
  if (writes_host) host_.forget(slot);
  std::span<const std::byte> rest(described);
  if (failure != nullptr) {
    rest = bytes_of_text(std::string_view(failure->message).substr(0, longest_message));
  } else if (reply != nullptr && r.type->described_reply == nullptr) {
    rest = {reply, r.type->reply_bytes};
  }
  const end_note head{
      .ticket = r.ticket,
      .failed = static_cast<std::uint8_t>(failure != nullptr ? 1 : 0),
      .code = static_cast<std::uint8_t>(failure != nullptr ? failure->code : errc{})};
  if (!add_end(head, rest) || !whole) note_gap(r.ticket, gap_note::ends);
  writer_->wake();
}

bool request_notes::add_end(const end_note& head, std::span<const std::byte> rest) noexcept {
  const std::size_t bytes = sizeof(head) + rest.size();
  std::byte* at = nullptr;
  while ((at = ends_.reserve(bytes)) == nullptr) {
    if (bytes >= end_queue_bytes / 8 || !writer_->await_space()) return false;
  }
  std::memcpy(at, &head, sizeof(head));
  if (!rest.empty()) std::memcpy(at + sizeof(head), rest.data(), rest.size());
  ends_.commit(at, bytes);
  return true;
}

void request_notes::unmapped(std::uint64_t ticket, const any_tensor& t, const std::byte* at,
                             access role) noexcept {
  const detail::buffer_ref& buffer = t.buffer();
  if (!with_contents_ || writer_->stopped() || !buffer || ticket == 0) return;
  const any_tensor::byte_range reach = t.reach();
  const auto bytes = static_cast<std::uint64_t>(reach.end - reach.begin);
  const bool is_dense = t.injective() && bytes == static_cast<std::uint64_t>(t.count()) *
                                                      static_cast<std::uint64_t>(size_of(t.type()));
  const bool on_host = buffer->owner == &host_memory_;
  if (!is_dense || bytes > writer_->options().most_request_bytes) {
    if (role != access::read) note_gap(ticket, gap_note::contents);
    return;
  }
  try {
    std::vector<block> all;
    const std::uint64_t offset =
        buffer->offset + static_cast<std::uint64_t>(t.address() - buffer->address + reach.begin);
    add_blocks(
        all, device_, role == access::read ? note::seen : note::content,
        {.offset = offset, .bytes = bytes, .pool = on_host ? wire::host_pool : wire::device_pool},
        at + reach.begin);
    queue(std::move(all), ticket);
  } catch (const std::bad_alloc&) {
    note_gap(ticket, gap_note::contents);
  }
}

void request_notes::happened(const std::string& what) noexcept {
  try {
    const std::lock_guard lock(gaps_mutex_);
    events_.push_back(what);
    has_gaps_.store(true, std::memory_order_release);
  } catch (const std::bad_alloc&) {
    return;  // a replay does not need it
  }
}

void request_notes::note_gap(std::uint64_t ticket, gap_note::missing what) noexcept {
  writer_->note_gap();
  const std::lock_guard lock(gaps_mutex_);
  has_gaps_.store(true, std::memory_order_release);
  if (!gaps_.empty() && gaps_.back().what == what) {
    gaps_.back().first = std::min(gaps_.back().first, ticket);
    gaps_.back().last = std::max(gaps_.back().last, ticket);
    return;
  }
  try {
    gaps_.push_back({.first = ticket, .last = ticket, .what = what});
  } catch (const std::bad_alloc&) {
    // The last one says more than is missing.
    if (!gaps_.empty()) gaps_.back().last = std::max(gaps_.back().last, ticket);
  }
}

void event_notes::on_event(const device_event& e) noexcept {
  try {
    to_.happened(e.why ? e.to_string() + ": " + e.why->to_string() : e.to_string());
  } catch (const std::bad_alloc&) {
    return;
  }
}

// The rest belongs to the journal's thread.

bool request_notes::give_notes(note_chunk& to) {
  bool any = sends_.take([&](std::span<const std::byte> bytes) {
    frame_note head;
    std::memcpy(&head, bytes.data(), sizeof(head));
    give_type(*head.type, to);
    head.about.type = head.type->id;
    to.add(note::send, device_, {bytes_of(head.about), bytes.subspan(sizeof(head))});
  });
  any =
      ends_.take([&](std::span<const std::byte> bytes) { to.add(note::end, device_, {bytes}); }) ||
      any;
  if (has_gaps_.load(std::memory_order_acquire)) {
    std::vector<gap_note> gaps;
    std::vector<std::string> events;
    std::vector<checkpoint_note> checkpoints;
    {
      const std::lock_guard lock(gaps_mutex_);
      gaps.swap(gaps_);
      events.swap(events_);
      checkpoints.swap(checkpoints_);
      has_gaps_.store(false, std::memory_order_relaxed);
    }
    for (const gap_note& gap : gaps)
      to.add(note::gap, device_, {bytes_of(gap)});
    for (const checkpoint_note& one : checkpoints)
      to.add(note::checkpoint, device_, {bytes_of(one)});
    for (const std::string& event : events)
      to.add(note::event, device_, {bytes_of_text(event)});
    any = true;
  }
  give_blobs(to);
  return any;
}

void request_notes::give_type(const request_type& type, note_chunk& to) {
  if (!types_.insert(type.id).second) return;
  const auto length = static_cast<std::uint32_t>(type.name.size());
  to.add(note::type, device_,
         {bytes_of(type.id), bytes_of(length), bytes_of_text(type.name),
          bytes_of_text(json_of(type))});
}

// The workers' blobs decide which algorithms they choose.
void request_notes::give_blobs(note_chunk& to) {
  if (!blobs_) return;
  const std::uint32_t news = blobs_->news().load(std::memory_order_acquire);
  if (news == blob_news_) return;
  blob_news_ = news;
  for (std::size_t place = 0; place < wire::most_blobs; ++place) {
    if (told_blobs_[place]) continue;
    const auto blob = blobs_->at(place);
    if (!blob || blob->loader != 0) continue;
    const auto length = static_cast<std::uint32_t>(blob->key.size());
    to.add(note::blob, device_, {bytes_of(length), blob->key, blob->content});
    told_blobs_[place] = true;
  }
}

}  // namespace troupe::journal
