// A control message of any content and length: a message accepted as whole can be read as its kind.
#include "wire/control.hpp"
#include "wire/reply.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace troupe;
  if (size > sizeof(wire::any_message)) return 0;  // refused by the socket
  // Only what was received has a value; AddressSanitizer watches the rest.
  wire::any_message message;
  std::memcpy(static_cast<void*>(&message), data, size);
  if (!wire::check_whole(message, size)) return 0;
  switch (message.kind) {
    case wire::control::hello:
      (void)::strnlen(message.hello.library_version, sizeof(message.hello.library_version));
      if (size < sizeof(message.hello)) std::abort();
      break;
    case wire::control::configure:
      if (size < sizeof(message.configure)) std::abort();
      break;
    case wire::control::map:
    case wire::control::unmap:
    case wire::control::share:
      if (size < sizeof(message.memory)) std::abort();
      break;
    case wire::control::protect:
      if (size < sizeof(message.protect)) std::abort();
      break;
    case wire::control::failed:
      if (size < sizeof(message.failed)) std::abort();
      (void)wire::read_failure(message.failed.why);
      break;
    case wire::control::missing:
      if (size < sizeof(message.missing)) std::abort();
      break;
    case wire::control::begin:
    case wire::control::ready:
    case wire::control::warm:
    case wire::control::protect_done:
    case wire::control::ping:
    case wire::control::pong:
      if (size < sizeof(message.plain)) std::abort();
      break;
  }
  return 0;
}
