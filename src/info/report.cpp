#include "info/report.hpp"

#include "device/selection/backend_choice.hpp"
#include "device/selection/locate.hpp"
#include "info/driver.hpp"
#include "info/entry.hpp"
#include "info/limits.hpp"
#include "info/look_up.hpp"
#include "info/machine.hpp"
#include "info/plugins.hpp"
#include "info/vendor_libraries.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <vector>

namespace troupe::info {
namespace {

// In one line: the failed call, in the vendor's terms, and the reason.
std::string line_of(const error& why) {
  std::string text;
  if (!why.call.empty() && !why.code_name.empty()) {
    text = fmt::format("{}: {} ({}), ", why.call, why.code_name, why.vendor_code);
  }
  text += why.message;
  std::ranges::replace(text, '\n', ' ');
  return text;
}

void append(std::vector<entry>& to, std::vector<entry> more) {
  std::ranges::move(more, std::back_inserter(to));
}

section installation() {
  section s{.key = "installation", .title = ""};
  for (const char* name : {"TROUPE_BACKEND", "CUDA_VISIBLE_DEVICES"}) {
    const char* value = std::getenv(name);
    if (value == nullptr) continue;
    entry one{.name = name, .text = fmt::format("\"{}\"", value)};
    s.entries.push_back(one.fact("value", value));
  }
  const auto file = [&](const char* name, const std::string& path, std::string_view without) {
    const bool there = ::access(path.c_str(), X_OK) == 0;
    entry one{.name = name, .text = path + (there ? "" : ": missing")};
    if (!there) one.remedy = fmt::format("install Troupe anew; without it {}", without);
    s.entries.push_back(one.fact("path", path).fact("ok", there));
  };
  file("worker", worker_executable({}), "only isolation::thread works");
  file("compiler", compiler_program(), "jit::compiler compiles nothing");
  return s;
}

section plugins_of(const std::vector<plugin>& all) {
  section s{.key = "plugins", .title = "Plugins, in " + plugin_folder()};
  for (const plugin& one : all)
    append(s.entries, look_up(one.name, [&] { return std::vector{loaded(one)}; }));
  return s;
}

// The plugins that can be loaded.
std::vector<plugin> loadable(const std::vector<plugin>& all, const section& seen) {
  std::vector<plugin> good;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (seen.entries[i].text == "ok") good.push_back(all[i]);
  return good;
}

section cpu_libraries(const std::vector<plugin>& good) {
  section s{.key = "cpu_libraries", .title = "Libraries of the CPU backend"};
  for (const plugin& one : good) {
    if (!one.name.starts_with("cpu")) continue;
    append(s.entries, look_up(one.name, [&] { return libraries_inside(one); }));
  }
  return s;
}

entry cuda_device(const device_description& one) {
  // Only the opened device knows its memory and access rights.
  const auto opened = choose_backend(
      one.ordinal, {.backend = backend_kind::cuda, .gpu = gpu_choice::number(one.ordinal)});
  entry e{.name = fmt::format("device {}", one.ordinal)};
  e.fact("model", one.name).fact("architecture", one.architecture).fact("uuid", one.uuid);
  e.fact("memory_bytes", one.memory_bytes);
  std::string level = "free memory unknown";
  if (opened && opened->source) {
    if (const auto now = opened->source->level()) {
      level = gibibytes(now->free) + " free";
      e.fact("free_bytes", now->free);
    }
  }
  e.text = fmt::format("{}, {}, {}, {}, {}", one.name, one.architecture,
                       gibibytes(one.memory_bytes), level, one.uuid);
  if (one.one_process) e.remedy = "its compute mode is exclusive: devices have no standby there";
  if (!opened) e.remedy = line_of(opened.error());
  return e;
}

// If there is no driver, the error already says why.
std::vector<entry> cuda() {
  std::vector<entry> all;
  const auto driver = find_driver();
  if (driver) {
    entry e{.name = "driver",
            .text = fmt::format("{}, for CUDA {}",
                                driver->release.empty() ? "of unknown release" : driver->release,
                                driver->cuda.empty() ? "of unknown version" : driver->cuda)};
    all.push_back(e.fact("release", driver->release).fact("cuda", driver->cuda));
  }
  const auto found = cuda_devices();
  if (found) {
    for (const device_description& one : *found)
      all.push_back(cuda_device(one));
    if (!found->empty()) return all;
  }
  const std::string why = found ? "the driver shows none" : line_of(found.error());
  entry none{.name = "no device", .text = why};
  none.fact("problem", why);
  if (driver) {
    none.remedy = "if there is a GPU: nvidia-smi and CUDA_VISIBLE_DEVICES say who may see it";
  }
  all.push_back(std::move(none));
  return all;
}

// If a plugin brings a vendor library along, that library is used, so load it first.
entry vendor_library_entry(const vendor_library& one, const std::vector<plugin>& all,
                           const std::vector<plugin>& good) {
  const bool by_compiler = one.used_by == compiler_of_kernels;
  const bool used = by_compiler || std::ranges::find(all, one.used_by, &plugin::name) != all.end();
  const auto user = std::ranges::find(good, one.used_by, &plugin::name);
  if (user != good.end()) (void)loaded(*user);
  const vendor_finding finding = look_for(one);
  const bool there = !finding.found.empty();
  entry e{.name = std::string(one.name),
          .text = fmt::format("{:<11} {:<11} {}{}", one.built_for.empty() ? "-" : one.built_for,
                              there ? finding.found : "missing",
                              there ? finding.path : std::string(one.soname),
                              used ? "" : ", not used by this build")};
  e.fact("built_for", one.built_for).fact("found", finding.found).fact("path", finding.path);
  e.fact("used", used);
  if (finding.problem) e.fact("problem", *finding.problem);
  if (!used || !finding.problem) return e;
  e.text += fmt::format("\n              {}", *finding.problem);
  if (!there) {
    e.remedy =
        fmt::format("install {}, or put the folder of {} into LD_LIBRARY_PATH; until then {}",
                    one.name, one.soname,
                    by_compiler ? "jit::compiler looks for it in the folders of a toolkit"
                                : fmt::format("the plugin {} is not loaded", one.used_by));
  }
  return e;
}

section vendor(const std::vector<plugin>& all, const std::vector<plugin>& good) {
  section s{.key = "vendor_libraries",
            .title = fmt::format("Vendor libraries\n  {:<11} {:<11} found", "", "built for")};
  for (const vendor_library& one : vendor_libraries()) {
    append(s.entries, look_up(std::string(one.name),
                              [&] { return std::vector{vendor_library_entry(one, all, good)}; }));
  }
  return s;
}

entry choice() {
  entry e{.name = "system.device(0)"};
  const auto chosen = choose_backend(0, {});
  if (!chosen) {
    e.text = "cannot be had: " + line_of(chosen.error());
    return e.fact("problem", line_of(chosen.error()));
  }
  if (chosen->source) {
    e.text = "runs on CUDA: " + chosen->source->description().name;
    return e.fact("backend", "cuda");
  }
  const auto cuda_too = choose_backend(0, {.backend = backend_kind::cuda});
  e.text = fmt::format("runs on the CPU backend: {}",
                       cuda_too ? "TROUPE_BACKEND says so" : "no CUDA device can be used");
  return e.fact("backend", "cpu");
}

std::vector<section> everything() {
  const std::vector<plugin> all = plugins();
  const section seen = plugins_of(all);
  const std::vector<plugin> good = loadable(all, seen);
  return {installation(),
          {.key = "machine", .title = "Machine", .entries = machine()},
          seen,
          cpu_libraries(good),
          {.key = "cuda", .title = "CUDA", .entries = look_up("devices", &cuda)},
          vendor(all, good),
          {.key = "choice", .title = "Choice", .entries = look_up("system.device(0)", [] {
                                                 return std::vector{choice()};
                                               })}};
}

void show(const std::vector<section>& all) {
  fmt::print("Troupe {}\n", TROUPE_VERSION);
  for (const section& one : all)
    fmt::print("{}", as_text(one));
}

void show_json(const std::vector<section>& all) {
  fmt::print("{{\n  \"version\": \"{}\"", TROUPE_VERSION);
  for (const section& one : all)
    fmt::print(",\n{}", as_json(one));
  fmt::print("\n}}\n");
}

}  // namespace

void show_report(bool json, bool limits_only) {
  // Look everything up before printing: a child process would print buffered text, too.
  const auto all = limits_only ? std::vector{limits()} : everything();
  json ? show_json(all) : show(all);
}

}  // namespace troupe::info
