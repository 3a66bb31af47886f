#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

/// Programs run as users run them, from a shell, and what they say.
namespace troupe::test {

struct outcome {
  int status = -1;   ///< -1 when it did not end by itself
  std::string text;  ///< both streams
};

[[nodiscard]] inline outcome run_program(const std::string& command) {
  std::FILE* output = ::popen((command + " 2>&1").c_str(), "r");
  outcome got;
  if (output == nullptr) return got;
  std::array<char, 4096> piece{};
  while (std::fgets(piece.data(), static_cast<int>(piece.size()), output) != nullptr)
    got.text += piece.data();
  const int status = ::pclose(output);
  if (WIFEXITED(status)) got.status = WEXITSTATUS(status);
  return got;
}

[[nodiscard]] inline bool has(const outcome& got, const std::string& text) {
  return got.text.find(text) != std::string::npos;
}

}  // namespace troupe::test
