#include "telemetry/fault_kind.hpp"

#include <array>
#include <utility>

namespace troupe {
namespace {

constexpr std::array kinds_by_name = {
    std::pair{"SIGSEGV", "address"},
    std::pair{"SIGBUS", "address"},
    std::pair{"SIGABRT", "assert"},
    std::pair{"CUDA_ERROR_ILLEGAL_ADDRESS", "address"},
    std::pair{"CUDA_ERROR_MISALIGNED_ADDRESS", "address"},
    std::pair{"CUDA_ERROR_INVALID_ADDRESS_SPACE", "address"},
    std::pair{"CUDA_ERROR_INVALID_PC", "address"},
    std::pair{"CUDA_ERROR_HARDWARE_STACK_ERROR", "address"},
    std::pair{"CUDA_ERROR_ASSERT", "assert"},
    std::pair{"CUDA_ERROR_LAUNCH_TIMEOUT", "hang"},
};
// The first word of the supervisor's own messages, before a colon, is as good as a code: callers
// see it, too, and the guide names it.
constexpr std::array kinds_by_word = {"killed", "exit", "gone", "hang", "silence", "xid"};

}  // namespace

std::string_view kind_of_fault(const error& why) noexcept {
  if (why.code == errc::protocol_violation) return "protocol";
  const std::string_view word = std::string_view(why.message).substr(0, why.message.find(':'));
  for (const std::string_view kind : kinds_by_word) {
    if (word == kind) return kind;
  }
  for (const auto& [name, kind] : kinds_by_name) {
    if (why.code_name == name) return kind;
  }
  return why.code_name.empty() ? "other" : "trap";
}

}  // namespace troupe
