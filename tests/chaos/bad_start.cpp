#include "bad_start.hpp"

#include "wire/control.hpp"
#include "worker/process/process_fault.hpp"
#include "worker/process/worker_argument.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <new>
#include <span>
#include <stdexcept>
#include <thread>

namespace troupe::chaos {
namespace {

constexpr named_start names[] = {
    {"ends", bad_start::ends},
    {"killed", bad_start::killed},
    {"crashes", bad_start::crashes},
    {"silent", bad_start::silent},
    {"closes", bad_start::closes},
    {"empty", bad_start::empty},
    {"garbage", bad_start::garbage},
    {"truncated", bad_start::truncated},
    {"ready_without_hello", bad_start::ready_without_hello},
    {"ends_after_hello", bad_start::ends_after_hello},
    {"truncated_after_hello", bad_start::truncated_after_hello},
    {"ready_at_once", bad_start::ready_at_once},
    {"second_hello", bad_start::second_hello},
    {"failed_without_words", bad_start::failed_without_words},
    {"throws", bad_start::throws},
    {"bad_alloc", bad_start::bad_alloc},
    {"hangs", bad_start::hangs},
    {"dies_soon", bad_start::dies_soon},
};

void say(std::span<const std::byte> bytes) {
  (void)::send(worker::control_descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

template <class Message>
void say(const Message& message) {
  say(std::as_bytes(std::span(&message, 1)));
}

wire::hello_message hello() {
  wire::hello_message message;
  std::strncpy(message.library_version, TROUPE_VERSION, sizeof(message.library_version) - 1);
  return message;
}

// Until the program closes the socket; what it says is not looked at, and its descriptors are not
// taken.
[[noreturn]] void stay() {
  std::byte rest[64];
  while (::recv(worker::control_descriptor, rest, sizeof(rest), 0) > 0) {
  }
  ::_exit(0);
}

}  // namespace

std::span<const named_start> bad_starts() { return names; }

std::optional<bad_start> bad_start_of(std::string_view name) {
  const auto* const found = std::ranges::find(names, name, &named_start::name);
  return found == std::end(names) ? std::nullopt : std::optional(found->how);
}

void spoil_handshake(bad_start how) {
  constexpr auto ready = wire::plain_message{.kind = wire::control::ready};
  switch (how) {
    case bad_start::none:
    case bad_start::throws:
    case bad_start::bad_alloc:
    case bad_start::hangs:
    case bad_start::dies_soon:
      return;
    case bad_start::ends:
      ::_exit(3);
    case bad_start::killed:
      worker::fault_process(fault::kind::kill);
      break;
    case bad_start::crashes:
      worker::fault_process(fault::kind::segmentation_fault);
      break;
    case bad_start::silent:
      break;
    case bad_start::closes:
      ::close(worker::control_descriptor);
      for (;;)
        ::pause();
    case bad_start::empty:
      say(std::span<const std::byte>());
      break;
    case bad_start::garbage: {
      const unsigned char bytes[64] = {0xff, 0x13, 0x37};
      say(bytes);
      break;
    }
    case bad_start::truncated: {
      const wire::hello_message whole = hello();
      say(std::as_bytes(std::span(&whole, 1)).first(sizeof(whole) / 2));
      break;
    }
    case bad_start::ready_without_hello:
      say(ready);
      break;
    case bad_start::ends_after_hello: {
      say(hello());
      std::byte first = {};
      (void)::recv(worker::control_descriptor, &first, 1, 0);
      ::_exit(0);
    }
    case bad_start::truncated_after_hello: {
      say(hello());
      const wire::failed_message whole;
      say(std::as_bytes(std::span(&whole, 1)).first(sizeof(whole) / 2));
      break;
    }
    case bad_start::ready_at_once:
      say(hello());
      say(ready);
      break;
    case bad_start::second_hello:
      say(hello());
      say(hello());
      break;
    case bad_start::failed_without_words: {
      wire::failed_message failed;
      std::memset(static_cast<void*>(&failed.why), 0xa5, sizeof(failed.why));
      say(hello());
      say(failed);
      break;
    }
  }
  stay();
}

void spoil_bring_up(bad_start how, std::uint32_t moment_us) {
  if (how == bad_start::throws) throw std::runtime_error("nobody catches this");
  if (how == bad_start::bad_alloc) throw std::bad_alloc();
  if (how == bad_start::dies_soon) {
    std::thread([moment_us] {
      std::this_thread::sleep_for(std::chrono::microseconds(moment_us));
      worker::fault_process(fault::kind::kill);
    }).detach();
  }
  while (how == bad_start::hangs)
    ::pause();
}

}  // namespace troupe::chaos
