#pragma once

#include <troupe/jit/compiler.hpp>

#include <cstdint>
#include <functional>
#include <string>

/// How programs are compiled beside the lanes, which never wait for it. Each plugin that compiles
/// has a copy: a thread and a compiler of its own.
namespace troupe::cuda {

/// Compiles what `kernel_source` or `callback_source` has written, in another process.
[[nodiscard]] future<jit::binary> compile(std::string name, std::string text,
                                          std::string architecture, jit::image_kind output);

/// Has a thread run `task`, one after another: what takes longer than a launch, such as writing a
/// source.
void run_in_background(std::function<void()> task);

/// The architecture of the current context's device, "sm_90".
[[nodiscard]] result<std::string> current_architecture();

}  // namespace troupe::cuda
