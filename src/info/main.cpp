// `troupe info`: what this installation of Troupe finds on this machine, and what it lacks.

#include "device/backend_choice.hpp"
#include "device/locate.hpp"
#include "info/driver.hpp"
#include "info/plugins.hpp"
#include "info/vendor_libraries.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace troupe::info {
namespace {

constexpr const char* usage =
    "usage: troupe info       devices, driver, plugins and vendor libraries, and what is missing\n"
    "       troupe version    the version of Troupe\n";

// In one line: what failed, as the vendor calls it, and the reason.
std::string line_of(const error& why) {
  std::string text;
  if (!why.call.empty() && !why.code_name.empty()) {
    text = fmt::format("{}: {} ({}), ", why.call, why.code_name, why.vendor_code);
  }
  text += why.message;
  std::ranges::replace(text, '\n', ' ');
  return text;
}

void what_to_do(std::string_view remedy) { fmt::print("              -> {}\n", remedy); }

void show_environment() {
  for (const char* name : {"TROUPE_BACKEND", "CUDA_VISIBLE_DEVICES"}) {
    const char* value = std::getenv(name);
    if (value != nullptr) fmt::print("  {}=\"{}\"\n", name, value);
  }
}

void show_files() {
  const auto show_file = [](std::string_view name, const std::string& file,
                            std::string_view without) {
    const bool there = ::access(file.c_str(), X_OK) == 0;
    fmt::print("  {:<11} {}{}\n", name, file, there ? "" : ": missing");
    if (!there) what_to_do(fmt::format("install Troupe anew; without it {}", without));
  };
  show_file("worker", worker_executable({}), "only isolation::thread works");
  show_file("compiler", compiler_program(), "jit::compiler compiles nothing");
}

void show_plugins(const std::vector<plugin>& all) {
  fmt::print("\nPlugins, in {}\n", plugin_folder());
  for (const plugin& one : all) {
    fmt::print("  {:<11} {}\n", one.name, one.problem ? "cannot be loaded: " + *one.problem : "ok");
    if (one.problem) what_to_do(remedy(one));
  }
}

std::string gibibytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30));
}

void show_device(const device_description& one) {
  // Level and rights are the opened device's to know.
  const auto opened = choose_backend(
      one.ordinal, {.backend = backend_kind::cuda, .gpu = gpu_choice::number(one.ordinal)});
  std::string level = "free memory unknown";
  if (opened && opened->source) {
    if (const auto now = opened->source->level()) level = gibibytes(now->free) + " free";
  }
  fmt::print("  {:<11} {}, {}, {}, {}, {}\n", fmt::format("device {}", one.ordinal), one.name,
             one.architecture, gibibytes(one.memory_bytes), level, one.uuid);
  if (!opened) what_to_do(line_of(opened.error()));
  if (one.one_process) what_to_do("its compute mode is exclusive: devices have no standby there");
}

void show_devices() {
  fmt::print("\nCUDA\n");
  const auto driver = find_driver();
  if (driver) {
    fmt::print("  {:<11} {}, for CUDA {}\n", "driver",
               driver->release.empty() ? "of unknown release" : driver->release,
               driver->cuda.empty() ? "of unknown version" : driver->cuda);
  }
  const auto found = cuda_devices();
  std::string why;
  if (!found) {
    why = line_of(found.error());
  } else if (found->empty()) {
    why = "the driver shows none";
  } else {
    for (const device_description& one : *found)
      show_device(one);
  }
  if (why.empty()) return;
  fmt::print("  no CUDA device: {}\n", why);
  what_to_do(driver ? "if there is a GPU: nvidia-smi and CUDA_VISIBLE_DEVICES say who may see it"
                    : "if there is a GPU: install NVIDIA's driver for CUDA 13, 580 or newer; a "
                      "container must be given it");
}

void show_vendor_libraries(const std::vector<plugin>& plugins) {
  fmt::print("\nVendor libraries\n  {:<11} {:<11} {:<11}\n", "", "built for", "found");
  for (const vendor_library& one : vendor_libraries()) {
    const bool by_compiler = one.used_by == compiler_of_kernels;
    const bool used =
        by_compiler || std::ranges::find(plugins, one.used_by, &plugin::name) != plugins.end();
    const vendor_finding finding = look_for(one);
    const std::string_view built_for = one.built_for.empty() ? "-" : one.built_for;
    fmt::print("  {:<11} {:<11} {:<11} {}{}\n", one.name, built_for,
               finding.found.empty() ? "missing" : finding.found,
               finding.found.empty() ? one.soname : finding.path,
               used ? "" : ", not used by this build");
    if (!used || !finding.problem) continue;
    fmt::print("              {}\n", *finding.problem);
    if (finding.found.empty()) {
      what_to_do(
          fmt::format("install {}, or put the folder of {} into LD_LIBRARY_PATH; until then {}",
                      one.name, one.soname,
                      by_compiler ? "jit::compiler looks for it in the folders of a toolkit"
                                  : fmt::format("the plugin {} is not loaded", one.used_by)));
    }
  }
}

void show_choice() {
  const auto chosen = choose_backend(0, {});
  if (!chosen) {
    fmt::print("\nsystem.device(0) cannot be had: {}\n", line_of(chosen.error()));
    return;
  }
  if (chosen->source) {
    fmt::print("\nsystem.device(0) runs on CUDA: {}\n", chosen->source->description().name);
    return;
  }
  const auto cuda = choose_backend(0, {.backend = backend_kind::cuda});
  fmt::print("\nsystem.device(0) runs on the CPU backend: {}\n",
             cuda ? "TROUPE_BACKEND says so" : line_of(cuda.error()));
}

void show() {
  fmt::print("Troupe {}\n", TROUPE_VERSION);
  show_environment();
  show_files();
  // First the plugins: a vendor library that one brings along is then the one that is found.
  const std::vector<plugin> all = plugins();
  show_plugins(all);
  show_devices();
  show_vendor_libraries(all);
  show_choice();
}

}  // namespace
}  // namespace troupe::info

int main(int argc, char** argv) {
  const std::string_view command = argc == 2 ? argv[1] : "";
  if (command == "info") {
    troupe::info::show();
  } else if (command == "version" || command == "--version") {
    fmt::print("{}\n", TROUPE_VERSION);
  } else if (command == "help" || command == "--help" || command == "-h") {
    fmt::print("{}", troupe::info::usage);
  } else {
    fmt::print(stderr, "{}", troupe::info::usage);
    return 2;
  }
  return 0;
}
