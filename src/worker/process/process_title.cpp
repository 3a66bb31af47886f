#include "worker/process/process_title.hpp"

#include "os/unique_fd.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace troupe::worker {
namespace {

// With the brackets.
constexpr std::size_t title_bytes = 48;

// The last byte of this process's arguments, a zero; null if the system does not say where.
char* end_of_arguments() noexcept {
  const os::unique_fd file(::open("/proc/self/stat", O_RDONLY | O_CLOEXEC));
  std::array<char, 2048> text{};
  const ssize_t got = file ? ::read(file.get(), text.data(), text.size() - 1) : -1;
  // The second field, the name, may contain anything.
  const char* after_name = got > 0 ? std::strrchr(text.data(), ')') : nullptr;
  if (after_name == nullptr) return nullptr;
  constexpr int arg_end = 49;  // proc(5)
  const char* field = after_name + 1;
  for (int number = 2; number < arg_end && field != nullptr; ++number)
    field = std::strchr(field + 1, ' ');
  std::uintptr_t end = 0;
  if (field == nullptr || std::sscanf(field, "%lu", &end) != 1 || end == 0) return nullptr;
  return reinterpret_cast<char*>(end) - 1;
}

void write(char* to, std::string_view text) noexcept {
  text = text.substr(0, title_bytes - 2);
  *to = '[';
  text.copy(to + 1, text.size());
  to[text.size() + 1] = ']';
  std::fill(to + text.size() + 2, to + title_bytes, ' ');
}

}  // namespace

std::string title_argument(std::string_view text) {
  std::string made(title_bytes, ' ');
  write(made.data(), text);
  return made;
}

void set_title(std::string_view text) noexcept {
  char* const end = end_of_arguments();
  if (end == nullptr) return;
  char* const title = end - title_bytes;
  const bool is_title = *end == '\0' && title[-1] == '\0' && *title == '[' &&
                        std::memchr(title, '\0', title_bytes) == nullptr;
  if (is_title) write(title, text);
}

}  // namespace troupe::worker
