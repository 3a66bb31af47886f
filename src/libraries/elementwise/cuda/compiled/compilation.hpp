#pragma once

#include <troupe/jit/compiler.hpp>

#include <cstdint>
#include <functional>
#include <string>

/// Compiles programs in the background; lanes never wait for it. Each plugin that compiles has its
/// own thread and compiler.
namespace troupe::cuda {

/// Compiles the output of `kernel_source` or `callback_source` in another process.
[[nodiscard]] future<jit::binary> compile(std::string name, std::string text,
                                          std::string architecture, jit::image_kind output);

/// Runs `task` on the background thread, one at a time: for work that takes longer than a launch,
/// such as writing a source.
void run_in_background(std::function<void()> task);

/// The architecture of the current context's device, "sm_90".
[[nodiscard]] result<std::string> current_architecture();

}  // namespace troupe::cuda
