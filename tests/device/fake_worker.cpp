#include "fake_worker.hpp"

#include "bad_start.hpp"
#include "operations.hpp"
#include "wire/control.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace troupe::test {
namespace {

constexpr int control_descriptor = 3;

template <class Message>
void say(const Message& message) {
  (void)::send(control_descriptor, &message, sizeof(message), MSG_NOSIGNAL);
}

// Until the program closes the socket.
[[noreturn]] void stay() {
  char byte = 0;
  while (::recv(control_descriptor, &byte, 1, 0) > 0) {
  }
  ::_exit(0);
}

}  // namespace

void maybe_misbehave(int argc, char** argv) {
  const char* how = std::getenv("TROUPE_TEST_WORKER");
  if (how == nullptr || argc != 2 || std::string_view(argv[1]) != "--troupe-worker") return;
  const std::string_view what(how);
  if (const auto badly = chaos::bad_start_of(what)) chaos::spoil_handshake(*badly);
  if (what == "other_version") {
    wire::hello_message hello;
    std::strcpy(hello.library_version, "0.0.1");
    hello.protocol = 77;
    say(hello);
    stay();
  }
  if (what == "makes_a_device") {
    ::unsetenv("TROUPE_TEST_WORKER");  // or, if it is not refused, its workers would do the same
    troupe::system system;
    try {
      (void)system.device(0, permissive());
    } catch (const failure& refused) {
      ::_exit(refused.code() == errc::worker_not_found ? 0 : 4);
    }
    ::_exit(5);
  }
}

}  // namespace troupe::test
