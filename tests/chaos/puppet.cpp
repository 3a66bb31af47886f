#include "puppet.hpp"

#include "worker/process/worker_argument.hpp"

#include <linux/futex.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

namespace troupe::chaos {
namespace {

constexpr int control = worker::control_descriptor;
constexpr useconds_t between_looks = 50;

std::byte* map_all(int descriptor, int rights, std::size_t& bytes) {
  struct stat is{};
  if (::fstat(descriptor, &is) != 0) ::_exit(9);
  bytes = static_cast<std::size_t>(is.st_size);
  void* const at = ::mmap(nullptr, bytes, rights, MAP_SHARED, descriptor, 0);
  if (at == MAP_FAILED) ::_exit(9);
  return static_cast<std::byte*>(at);
}

}  // namespace

puppet::puppet() {
  wire::hello_message hello;
  std::strncpy(hello.library_version, TROUPE_VERSION, sizeof(hello.library_version) - 1);
  say(hello);
  while (!begun_)
    hear(true);
}

void puppet::say(std::span<const std::byte> bytes, std::span<const int> descriptors) const {
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char room[CMSG_SPACE(64 * sizeof(int))] = {};
  if (!descriptors.empty()) {
    message.msg_control = room;
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  (void)::sendmsg(control, &message, MSG_NOSIGNAL);
}

// One control message, if there is one.
void puppet::hear(bool wait) {
  wire::any_message message;
  iovec part{&message, sizeof(message)};
  alignas(cmsghdr) char room[CMSG_SPACE(64 * sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = room;
  header.msg_controllen = sizeof(room);
  const ssize_t got = ::recvmsg(control, &header, wait ? 0 : MSG_DONTWAIT);
  if (got == 0) ::_exit(0);
  if (got < 0) return;
  if (const cmsghdr* const sent = CMSG_FIRSTHDR(&header); sent != nullptr) {
    const std::size_t before = descriptors_.size();
    const std::size_t count = (sent->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    descriptors_.resize(before + count);
    std::memcpy(&descriptors_[before], CMSG_DATA(sent), count * sizeof(int));
  }
  if (message.kind == wire::control::configure) take_configuration(message.configure);
  if (message.kind == wire::control::begin) {
    say(wire::plain_message{.kind = wire::control::warm});
    say(wire::plain_message{.kind = wire::control::ready, .id = message.plain.id});
    begun_ = true;
  }
  if (!acknowledges) return;
  if (message.kind == wire::control::protect) {
    const bool refused = message.protect.read_only != 0 ? refuses_frozen : refuses_thawed;
    say(wire::plain_message{.kind = wire::control::protect_done,
                            .code = refused ? std::uint32_t{ENOMEM} : 0,
                            .id = message.protect.id});
  }
  if (message.kind == wire::control::ping) {
    say(wire::plain_message{.kind = wire::control::pong, .id = message.plain.id});
  }
}

void puppet::take_configuration(const wire::configure_message& message) {
  number_ = message.worker;
  std::size_t bytes = 0;
  mailbox_ = reinterpret_cast<const wire::mailbox_header*>(
      map_all(descriptors_[0], PROT_READ, mailbox_bytes_));
  bells_ =
      reinterpret_cast<wire::doorbells*>(map_all(descriptors_[1], PROT_READ | PROT_WRITE, bytes));
  segment_ = reinterpret_cast<wire::worker_header*>(
      map_all(descriptors_[2], PROT_READ | PROT_WRITE, bytes));
}

puppet::request puppet::next() {
  for (;;) {
    if (reads) hear(false);
    if (!activated_ && mailbox_->active.worker.load(std::memory_order_acquire) == number_) {
      const auto* const waiting =
          reinterpret_cast<const std::uint64_t*>(base() + mailbox_->geometry.replay_offset);
      waiting_.assign(waiting, waiting + mailbox_->active.replay_count);
      next_ticket_ = mailbox_->active.first_ticket;
      activated_ = true;
    }
    if (!waiting_.empty()) {
      const std::uint64_t entry = waiting_.front();
      waiting_.erase(waiting_.begin());
      return read(entry);
    }
    if (activated_) {
      const auto* const ring = reinterpret_cast<const std::atomic<std::uint64_t>*>(
          base() + mailbox_->geometry.ring_offset);
      const std::uint64_t entry =
          ring[next_ticket_ & (mailbox_->geometry.ring_size - 1)].load(std::memory_order_acquire);
      if (wire::ring_entry::is_for(entry, next_ticket_)) {
        ++next_ticket_;
        return read(entry);
      }
    }
    ::usleep(between_looks);
  }
}

puppet::request puppet::read(std::uint64_t entry) {
  request r;
  r.slot = wire::ring_entry::slot_of(entry);
  r.lane = wire::ring_entry::lane_of(entry);
  r.place = ++places_[r.lane];
  const std::byte* const slot =
      base() + mailbox_->geometry.slots_offset + r.slot * wire::slot_bytes;
  const auto* const header = reinterpret_cast<const wire::slot_header*>(slot);
  r.ticket = header->ticket;
  if (header->operation == request_type_of<question>().id) {
    // Values travel in the order in which they lie in the request.
    std::memcpy(&r.what, slot + sizeof(wire::slot_header), sizeof(r.what));
    std::memcpy(&r.number, slot + sizeof(wire::slot_header) + sizeof(r.what), sizeof(r.number));
  }
  return r;
}

wire::reply_slot& puppet::reply(const request& r) {
  return reinterpret_cast<wire::reply_slot*>(segment_ + 1)[r.slot];
}

void puppet::write_reply(const request& r, scalar value) {
  wire::reply_slot& to = reply(r);
  to = wire::reply_slot{};
  to.ticket = r.ticket;
  to.reply_bytes = sizeof(value);
  std::memcpy(to.bytes, static_cast<const void*>(&value), sizeof(value));
  lane(r).replied.store(r.place);
}

void puppet::mark(const request& r, std::uint64_t place) {
  lane(r).completed.store(place, std::memory_order_release);
}

void puppet::answer(const request& r, scalar value) {
  write_reply(r, value);
  mark(r, r.place);
  wake();
}

void puppet::wake() {
  wire::doorbells& own = bells_[number_ % wire::doorbell_sets];
  own.completion.fetch_add(1);
  ::syscall(SYS_futex, &own.completion, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(event(), &one, sizeof(one));
}

std::span<std::byte> puppet::segment() const {
  return {reinterpret_cast<std::byte*>(segment_),
          wire::worker_segment_bytes(mailbox_->geometry.capacity)};
}

std::span<std::byte> puppet::bells() const {
  return {reinterpret_cast<std::byte*>(bells_), sizeof(wire::doorbells) * wire::doorbell_sets};
}

std::span<const std::byte> puppet::mailbox() const {
  return {reinterpret_cast<const std::byte*>(mailbox_), mailbox_bytes_};
}

}  // namespace troupe::chaos
