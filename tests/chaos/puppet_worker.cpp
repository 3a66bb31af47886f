#include "puppet_worker.hpp"

#include "puppet.hpp"
#include "worker/process/worker_argument.hpp"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <random>
#include <thread>

namespace troupe::chaos {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using request = puppet::request;

constexpr std::uint64_t all_bits = ~std::uint64_t{0};
// For so long nonsense stands where the program looks.
constexpr auto while_it_looks = 5ms;
// A worker's remains outlive the answers of the next one.
constexpr auto afterlife = 1500ms;

scalar right(const request& r) { return scalar(answer_to(r.number)); }

// Each differs from the mark that is right, which is the place; none is within reach.
std::uint64_t wrong_mark(const request& r) {
  const std::uint64_t marks[] = {r.place + 1,
                                 r.place + 2,
                                 r.place + wire::queue_depth,
                                 r.place + 0xffff,
                                 r.place + (std::uint64_t{1} << 32),
                                 r.place + (std::uint64_t{1} << 63),
                                 all_bits - 1,
                                 all_bits,
                                 r.place - 2};
  return marks[static_cast<std::size_t>(r.number) % std::size(marks)];
}
constexpr std::int64_t wrong_marks = 9;

using spoiler = void (*)(puppet& self, const request& r, wire::reply_slot& reply);
constexpr spoiler reply_spoilers[] = {
    [](puppet&, const request&, wire::reply_slot& reply) { reply.reply_bytes = 0; },
    [](puppet&, const request&, wire::reply_slot& reply) { --reply.reply_bytes; },
    [](puppet&, const request&, wire::reply_slot& reply) { ++reply.reply_bytes; },
    [](puppet&, const request&, wire::reply_slot& reply) { reply.reply_bytes = 0xffff; },
    [](puppet&, const request&, wire::reply_slot& reply) {
      reply.reply_bytes = sizeof(reply.bytes) + 1;
    },
    [](puppet&, const request&, wire::reply_slot& reply) { reply.heap_place = 1; },
    [](puppet&, const request&, wire::reply_slot& reply) { reply.heap_place = 0xffffffff; },
    [](puppet&, const request&, wire::reply_slot& reply) { ++reply.ticket; },
    [](puppet&, const request&, wire::reply_slot& reply) { --reply.ticket; },
    [](puppet&, const request&, wire::reply_slot& reply) { reply.ticket = all_bits; },
    [](puppet&, const request&, wire::reply_slot& reply) { reply.bytes[0] = std::byte{4}; },
    [](puppet&, const request&, wire::reply_slot& reply) { reply.bytes[0] = std::byte{0xff}; },
    [](puppet& self, const request& r, wire::reply_slot&) { self.lane(r).replied.store(0); },
};

constexpr spoiler failure_spoilers[] = {
    [](puppet&, const request&, wire::reply_slot& reply) {
      reply.code = static_cast<std::uint16_t>(errc::library_error);
      reply.library_bytes = reply.call_bytes = 0xffff;
      reply.code_name_bytes = 0xffff;
      reply.reply_bytes = 0xffff;
    },
    [](puppet&, const request&, wire::reply_slot& reply) {
      reply.code = static_cast<std::uint16_t>(errc::library_error);
      reply.reply_bytes = 0xffff;
      std::ranges::fill(reply.bytes, std::byte{0xff});
    },
    [](puppet&, const request&, wire::reply_slot& reply) {
      reply.code = static_cast<std::uint16_t>(errc::system_error) + 1;
    },
    [](puppet&, const request&, wire::reply_slot& reply) { reply.code = 0xffff; },
};

// Every field that the program looks at, and some words of other lanes and slots.
void spoil_field(puppet& self, const request& r) {
  wire::lane_mark& mark = self.lane(r);
  wire::reply_slot& reply = self.reply(r);
  wire::crash_report& crash = self.crash();
  const std::span<std::byte> fields[] = {
      std::as_writable_bytes(std::span(&mark.completed, 1)),
      std::as_writable_bytes(std::span(&mark.replied, 1)),
      std::as_writable_bytes(std::span(&mark.started, 1)),
      std::as_writable_bytes(std::span(&mark.unmarked, 1)),
      std::as_writable_bytes(std::span(&mark.calls, 1)),
      std::as_writable_bytes(std::span(&crash.signal, 1)),
      std::as_writable_bytes(std::span(&crash.has_ticket, 1)),
      std::as_writable_bytes(std::span(&crash.from_outside, 1)),
      std::as_writable_bytes(std::span(&crash.ticket, 1)),
      std::as_writable_bytes(std::span(&crash.address, 1)),
      std::as_writable_bytes(std::span(&reply.ticket, 1)),
      std::as_writable_bytes(std::span(&reply.vendor_code, 1)),
      std::as_writable_bytes(std::span(&reply.code, 1)),
      std::as_writable_bytes(std::span(&reply.reply_bytes, 1)),
      std::as_writable_bytes(std::span(&reply.heap_place, 1)),
      std::as_writable_bytes(std::span(reply.bytes)),
      self.segment().first(sizeof(wire::lane_mark)),
      self.segment().last(sizeof(wire::reply_slot)),
      self.bells(),
  };
  const auto which = static_cast<std::size_t>(r.number / 2) % std::size(fields);
  std::mt19937_64 random(static_cast<std::uint64_t>(r.number));
  for (std::byte& b : fields[which])
    b = r.number % 2 == 0 ? std::byte{0xff} : static_cast<std::byte>(random());
}
constexpr std::int64_t spoiled_fields = std::int64_t{2} * 18;

void make_noise(puppet& self, std::uint64_t seed, clock::duration how_long) {
  std::mt19937_64 random(seed);
  const auto until = clock::now() + how_long;
  do {
    for (const std::span<std::byte> where : {self.segment(), self.bells()}) {
      for (std::size_t i = 0; i + sizeof(std::uint64_t) <= where.size(); i += sizeof(std::uint64_t))
        std::atomic_ref(*reinterpret_cast<std::uint64_t*>(&where[i])).store(random());
    }
  } while (clock::now() < until);
}

// Messages that a ready worker must not send: whole messages of each kind, without anything that
// was asked for, and pieces of some. (No answers are among them, because nothing was asked.)
std::vector<std::byte> words(std::int64_t number) {
  constexpr std::size_t wholes[] = {
      0,
      sizeof(wire::hello_message),
      sizeof(wire::configure_message),
      sizeof(wire::plain_message),
      sizeof(wire::plain_message),
      sizeof(wire::plain_message),
      sizeof(wire::failed_message),
      sizeof(wire::missing_message),
      sizeof(wire::memory_message),
      sizeof(wire::memory_message),
      sizeof(wire::memory_message),
      sizeof(wire::protect_message),
      sizeof(wire::plain_message),
      sizeof(wire::plain_message),
      sizeof(wire::plain_message),
      sizeof(wire::plain_message),
  };
  constexpr std::size_t sizes[] = {1, 3, 4, 15, 17, sizeof(wire::any_message) + 1, 65'536};
  const auto n = static_cast<std::size_t>(number);
  const std::size_t kind = n % std::size(wholes);
  const std::size_t bytes =
      n < std::size(wholes) ? std::max<std::size_t>(wholes[kind], 1) : sizes[n % std::size(sizes)];
  std::vector<std::byte> all(bytes, n % 2 == 0 ? std::byte{0} : std::byte{0xff});
  const auto named = static_cast<std::uint32_t>(kind);
  std::memcpy(all.data(), &named, std::min(bytes, sizeof(named)));
  return all;
}
constexpr std::int64_t different_words = 16 + 7;

void hand_descriptors(const puppet& self, std::int64_t number) {
  const wire::plain_message message{.kind = wire::control::pong, .id = 1};
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) ::_exit(9);
  const int kinds[] = {self.event(), ends[0], ends[1], ::open("/", O_RDONLY | O_CLOEXEC),
                       worker::control_descriptor};
  const std::vector<int> many(number % 2 == 0 ? 1 : 64,
                              kinds[static_cast<std::size_t>(number / 2) % std::size(kinds)]);
  self.say(std::as_bytes(std::span(&message, 1)), many);
}
constexpr std::int64_t handed_descriptors = std::int64_t{2} * 5;

void take_wakes(puppet& self, std::int64_t number) {
  // The flags are the program's, too.
  ::fcntl(self.event(), F_SETFL, 0);
  std::thread([event = self.event(), number] {
    for (;;) {
      std::uint64_t count = number % 2 == 0 ? all_bits - 1 : 0;
      [[maybe_unused]] const ssize_t done = number % 2 == 0 ? ::write(event, &count, sizeof(count))
                                                            : ::read(event, &count, sizeof(count));
    }
  }).detach();
}

// How much of what must not be possible is.
std::int64_t tamper(const puppet& self) {
  std::int64_t done = 0;
  const auto note = [&](bool succeeded) { done += succeeded ? 1 : 0; };
  const auto of_size = [&](int descriptor) {
    struct stat is{};
    ::fstat(descriptor, &is);
    note(::ftruncate(descriptor, 0) == 0);
    note(::ftruncate(descriptor, is.st_size / 2) == 0);
    note(::ftruncate(descriptor, 2 * is.st_size) == 0);
    for (const int seal : {F_SEAL_WRITE, F_SEAL_FUTURE_WRITE, F_SEAL_SEAL})
      note(::fcntl(descriptor, F_ADD_SEALS, seal) == 0);
  };
  for (const int descriptor : self.descriptors()) {
    if (descriptor != self.event()) of_size(descriptor);
  }
  const int mailbox = self.descriptors()[0];
  const std::span<const std::byte> pages = self.mailbox();
  void* const at = ::mmap(nullptr, pages.size(), PROT_READ | PROT_WRITE, MAP_SHARED, mailbox, 0);
  note(at != MAP_FAILED);
  auto* const own = const_cast<std::byte*>(pages.data());
  note(::mprotect(own, pages.size(), PROT_READ | PROT_WRITE) == 0);
  const std::uint64_t word = all_bits;
  note(::pwrite(mailbox, &word, sizeof(word), 0) > 0);
  note(::fallocate(mailbox, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == 0);
  note(::madvise(own, 4096, MADV_REMOVE) == 0);
  const int memory = ::open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  note(::pwrite(memory, &word, sizeof(word), reinterpret_cast<off_t>(own)) > 0);
  ::close(memory);
  return done;
}

void leave_child(puppet& self, std::int64_t number) {
  if (::fork() != 0) ::_exit(1);
  ::setsid();  // else it ends with its group
  make_noise(self, static_cast<std::uint64_t>(number), afterlife);
  ::_exit(0);
}

void forge_report(puppet& self, const request& r) {
  wire::crash_report& crash = self.crash();
  crash.has_ticket = r.number % 3 == 0 ? 0xffff : 1;
  crash.ticket = r.number % 2 == 0 ? r.ticket + 1 : all_bits;
  crash.from_outside = r.number % 4 == 0 ? 0xffff : 0;
  crash.address = all_bits;
  crash.signal.store(r.number % 5 == 4 ? 0xffff'ffff : SIGSEGV);
  ::signal(SIGSEGV, SIG_DFL);
  ::raise(SIGSEGV);
}

// As a queue's worker does that exits in the code of one of its requests.
void end_in_calls(puppet& self, const request& r) {
  if (r.number == role_begun) {
    self.lane(r).started.store(r.place);
  } else {
    self.lane(r).calls.store(r.ticket + 1);
  }
  if (r.number == role_last_called) ::_exit(0);
}

void perform(puppet& self, const request& r) {
  const auto n = static_cast<std::size_t>(r.number);
  switch (r.what) {
    case trick::none:
      return self.answer(r, right(r));
    case trick::marks:
      self.write_reply(r, right(r));
      self.mark(r, wrong_mark(r));
      return self.wake();
    case trick::answers_twice:
      self.answer(r, right(r));
      std::this_thread::sleep_for(while_it_looks);
      return self.answer(r, scalar(second_answer));
    case trick::spoils_reply:
      self.write_reply(r, right(r));
      reply_spoilers[n % std::size(reply_spoilers)](self, r, self.reply(r));
      self.mark(r, r.place);
      return self.wake();
    case trick::fails_strangely:
      self.write_reply(r, right(r));
      failure_spoilers[n % std::size(failure_spoilers)](self, r, self.reply(r));
      self.mark(r, r.place);
      return self.wake();
    case trick::spoils_field:
      spoil_field(self, r);
      std::this_thread::sleep_for(while_it_looks);
      return self.answer(r, right(r));
    case trick::makes_noise:
      make_noise(self, static_cast<std::uint64_t>(r.number), 10 * while_it_looks);
      return self.answer(r, right(r));
    case trick::speaks:
      for (;;)
        self.say(words(r.number));
    case trick::hands_descriptors:
      return hand_descriptors(self, r.number);
    case trick::reads_nothing:
      self.reads = false;
      return self.answer(r, right(r));
    case trick::owes_answers:
      self.acknowledges = false;
      return self.answer(r, right(r));
    case trick::refuses_rights:
      self.refuses_frozen = r.number != 1;
      self.refuses_thawed = r.number != 0;
      return self.answer(r, right(r));
    case trick::takes_wakes:
      take_wakes(self, r.number);
      return self.answer(r, right(r));
    case trick::tampers:
      return self.answer(r, scalar(tamper(self)));
    case trick::leaves_child:
      return leave_child(self, r.number);
    case trick::forges_report:
      return forge_report(self, r);
    case trick::ends_in_calls:
      return end_in_calls(self, r);
  }
}

result<scalar> run(const question& r, lane_context&) { return scalar(answer_to(r.number)); }

}  // namespace

std::int64_t ways_of(trick what) {
  switch (what) {
    case trick::none:
    case trick::answers_twice:
    case trick::reads_nothing:
    case trick::owes_answers:
    case trick::tampers:
    case trick::leaves_child:
      return 1;
    case trick::marks:
      return wrong_marks;
    case trick::spoils_reply:
      return std::size(reply_spoilers);
    case trick::fails_strangely:
      return std::size(failure_spoilers);
    case trick::spoils_field:
      return spoiled_fields;
    case trick::makes_noise:
      return 8;
    case trick::speaks:
      return different_words;
    case trick::hands_descriptors:
      return handed_descriptors;
    case trick::refuses_rights:
      return 3;
    case trick::takes_wakes:
      return 2;
    case trick::forges_report:
      return 6;
    case trick::ends_in_calls:
      return 3;
  }
  return 0;
}

void add_puppet_operations(operation_table& operations) { operations.add(&run); }

void maybe_be_puppet(int argc, char** argv) {
  if (std::getenv(puppet_setting) == nullptr || argc < 2 || argv[1] != worker::worker_argument) {
    return;
  }
  puppet self;
  for (;;)
    perform(self, self.next());
}

}  // namespace troupe::chaos
