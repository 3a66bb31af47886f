#include "hostile_worker.hpp"

#include "gpu/faults/fault_cases.hpp"
#include "unit/worker/fake_accelerator.hpp"
#include "wire/control.hpp"
#include "worker/process/worker_argument.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>

namespace troupe::chaos {
namespace {

using namespace std::chrono_literals;

constexpr const char* board_setting = "TROUPE_CHAOS_BOARD";
// A program has seen what is wrong long before.
constexpr auto until_seen = 5s;

// The board's one word: how, and the moment in the higher half.
std::uint64_t packed(bad_start how, std::uint32_t moment_us) {
  return std::uint64_t{moment_us} << 32 | static_cast<std::uint64_t>(how);
}

std::atomic<std::uint64_t>* map_word(int descriptor) {
  void* const at =
      ::mmap(nullptr, sizeof(std::uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  return at == MAP_FAILED ? nullptr : static_cast<std::atomic<std::uint64_t>*>(at);
}

struct spoiled_start {
  bad_start how = bad_start::none;
  std::uint32_t moment_us = 0;
};

spoiled_start& own_start() {
  static spoiled_start start;
  return start;
}

/// A mapping of this process by its name.
struct mapped {
  std::byte* at = nullptr;
  std::size_t bytes = 0;
};
mapped find_mapping(std::string_view name) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(name) == std::string::npos) continue;
    std::size_t dash = 0;
    const std::uint64_t begin = std::stoull(line, &dash, 16);
    const std::uint64_t end = std::stoull(line.substr(dash + 1), nullptr, 16);
    return {reinterpret_cast<std::byte*>(begin), end - begin};
  }
  return {};
}

void say(std::span<const std::byte> bytes) {
  (void)::send(worker::control_descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

template <class Message>
void say(const Message& message) {
  say(std::as_bytes(std::span(&message, 1)));
}

// Again and again, because the threads that serve write what is right.
template <class Step>
void until_ended(Step step, std::chrono::nanoseconds limit = until_seen) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (std::chrono::steady_clock::now() < deadline) {
    step();
    std::this_thread::yield();
  }
}

wire::worker_header* own_segment() {
  return reinterpret_cast<wire::worker_header*>(find_mapping("/memfd:troupe-worker").at);
}

// Far from any valid number: a wrong number within reach cannot be told from the right one.
constexpr std::uint64_t far = std::uint64_t{1} << 40;

// The mark of the lane that runs this: the one that stands still with something to do. The lies are
// of no other lane: a request there that has run, and is aborted for its lane's lie, may have been
// seen by others that have their answers.
wire::lane_mark* own_mark() {
  constexpr auto while_others_move = 20ms;
  wire::worker_header* const segment = own_segment();
  std::uint64_t before[wire::max_lanes] = {};
  for (int i = 0; i < wire::max_lanes; ++i)
    before[i] = segment->lanes[i].completed.load();
  std::this_thread::sleep_for(while_others_move);
  for (int i = 0; i < wire::max_lanes; ++i) {
    wire::lane_mark& mark = segment->lanes[i];
    if (mark.completed.load() == before[i] && mark.started.load() > before[i]) return &mark;
  }
  return nullptr;
}

void lie_about_marks(const misbehave& r) {
  wire::lane_mark* const mark = own_mark();
  if (mark == nullptr) return;
  std::mt19937_64 random(static_cast<std::uint64_t>(r.number));
  const std::uint64_t before = mark->completed.load();
  until_ended([&] {
    if (r.what == deed::marks_anything) {
      mark->replied.store(random());
      mark->unmarked.store(random());
    }
    // Nothing is less than nothing.
    const bool back = r.what == deed::marks_back && before > 0;
    mark->completed.store(back ? before - 1 : far | random());
  });
}

void leave_replies_of_others(const misbehave& r) {
  const mapped segment = find_mapping("/memfd:troupe-worker");
  if (segment.at == nullptr) return;
  const std::span replies(
      reinterpret_cast<wire::reply_slot*>(segment.at + sizeof(wire::worker_header)),
      (segment.bytes - sizeof(wire::worker_header)) / sizeof(wire::reply_slot));
  std::mt19937_64 random(static_cast<std::uint64_t>(r.number));
  until_ended(
      [&] {
        for (wire::reply_slot& reply : replies)
          std::atomic_ref(reply.ticket).store(~std::uint64_t{0} - random() % 1000);
      },
      300ms);
}

// If it may write, nothing happens and the request succeeds, which is noticed.
void write_mailbox() {
  const mapped mailbox = find_mapping("/memfd:troupe-mailbox");
  if (::mprotect(mailbox.at, mailbox.bytes, PROT_READ | PROT_WRITE) == 0) return;
  std::memset(mailbox.at, 0xa5, mailbox.bytes);
}

void ring_at_random(const misbehave& r) {
  const mapped bells = find_mapping("/memfd:troupe-doorbells");
  std::mt19937_64 random(static_cast<std::uint64_t>(r.number));
  for (std::size_t i = 0; i + 4 <= bells.bytes; i += 4) {
    std::atomic_ref(*reinterpret_cast<std::uint32_t*>(bells.at + i))
        .store(static_cast<std::uint32_t>(random() % 3));
  }
}

void say_what_was_not_asked(bool is_pong) {
  if (is_pong) return say(wire::plain_message{.kind = wire::control::pong, .id = far});
  // Once it was true.
  for (int i = 0; i < 2; ++i)
    say(wire::plain_message{.kind = wire::control::warm});
}

void write_output(const any_tensor& output) {
  float* const elements = output.data<float>();
  std::fill(elements, elements + output.count(), 3.0F);
}

void commit(const misbehave& r) {
  std::mt19937_64 random(static_cast<std::uint64_t>(r.number));
  switch (r.what) {
    case deed::says_garbage: {
      std::uint64_t bytes[8];
      for (std::uint64_t& b : bytes)
        b = random() | 0x80;
      say(bytes);
      return until_ended([] {});
    }
    case deed::says_half: {
      const wire::failed_message whole;
      say(std::as_bytes(std::span(&whole, 1)).first(random() % sizeof(whole) / 2 + 1));
      return until_ended([] {});
    }
    case deed::says_too_much: {
      const std::vector<std::byte> much(sizeof(wire::any_message) + 1 + random() % 4096);
      say(much);
      return until_ended([] {});
    }
    case deed::says_nothing:
      say(std::span<const std::byte>());
      return until_ended([] {});
    case deed::says_what_it_may_not:
      say(wire::plain_message{.kind =
                                  random() % 2 == 0 ? wire::control::begin : wire::control::ping});
      return until_ended([] {});
    case deed::says_hello_again: {
      wire::hello_message hello;
      std::strncpy(hello.library_version, TROUPE_VERSION, sizeof(hello.library_version) - 1);
      say(hello);
      return until_ended([] {});
    }
    case deed::says_ready_again:
      say(wire::plain_message{.kind = wire::control::ready});
      return until_ended([] {});
    case deed::fails_without_words: {
      wire::failed_message failed;
      std::memset(static_cast<void*>(&failed.why), 0xa5, sizeof(failed.why));
      say(failed);
      return until_ended([] {});
    }
    case deed::hangs_up:
      ::shutdown(worker::control_descriptor, SHUT_RDWR);
      return until_ended([] {});
    case deed::throws_elsewhere:
      return std::thread([] { throw std::runtime_error("nobody catches this"); }).join();
    case deed::lost_completion:
      write_output(r.output);
      for (;;)
        ::pause();
    case deed::writes_mailbox:
      return write_mailbox();
    case deed::marks_beyond:
    case deed::marks_back:
    case deed::marks_anything:
      return lie_about_marks(r);
    case deed::replies_of_others:
      return leave_replies_of_others(r);
    case deed::rings_at_random:
      return ring_at_random(r);
    case deed::says_what_was_not_asked:
      say_what_was_not_asked(random() % 2 == 0);
      return until_ended([] {});
  }
}

result<void> run(const misbehave& r, lane_context& where) {
  if (gpu_test::plugin_under_test().empty()) {
    commit(r);
  } else {
    // By the queue, when its turn comes: a request that has not begun is not to blame.
    static_cast<testing_worker::fake_lane&>(where).enqueue([r] { commit(r); });
  }
  return {};
}

}  // namespace

void misbehave::describe(description<misbehave>& d) {
  d.about("Has a worker do something wrong.");
  d.value("what", &misbehave::what, "what it does");
  d.writes("output", &misbehave::output, {}, "tensor that is undefined after a fault");
  d.value("number", &misbehave::number, "seed of random numbers");
  d.layouts(layout::packed, {&misbehave::output});
  d.same_type({&misbehave::output}, {dtype::f32});
}

void add_hostile_operations(operation_table& operations) {
  spoil_bring_up(own_start().how, own_start().moment_us);
  operations.add(&run);
}

start_board::start_board() {
  descriptor_ = ::memfd_create("chaos-board", MFD_CLOEXEC);
  if (descriptor_ < 0 || ::ftruncate(descriptor_, sizeof(std::uint64_t)) != 0) {
    throw std::runtime_error("no memory to tell workers how to start");
  }
  word_ = map_word(descriptor_);
  const std::string path = fmt::format("/proc/{}/fd/{}", ::getpid(), descriptor_);
  ::setenv(board_setting, path.c_str(), 1);
}

start_board::~start_board() {
  ::munmap(static_cast<void*>(word_), sizeof(std::uint64_t));
  ::close(descriptor_);
}

void start_board::spoil_next(bad_start how, std::uint32_t moment_us) {
  word_->store(packed(how, moment_us));
}

bool start_board::taken() const { return word_->load() == 0; }

void maybe_start_badly(int argc, char** argv) {
  const char* const path = std::getenv(board_setting);
  if (path == nullptr || argc < 2 || argv[1] != worker::worker_argument) return;
  const int descriptor = ::open(path, O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return;  // the program has ended
  std::atomic<std::uint64_t>* const word = map_word(descriptor);
  ::close(descriptor);
  if (word == nullptr) return;
  const std::uint64_t taken = word->exchange(0);
  own_start() = {.how = static_cast<bad_start>(taken & 0xff),
                 .moment_us = static_cast<std::uint32_t>(taken >> 32)};
  spoil_handshake(own_start().how);
}

}  // namespace troupe::chaos
