#include "device/selection/backend_choice.hpp"

#include "device/selection/locate.hpp"
#include "worker/plugins/whole_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace troupe {
namespace {

// The program's side of a backend; the worker loads the same file for its side.
class provider {
 public:
  static result<provider> load(const std::string& plugin) {
    if (const std::string lack = worker::lack_of_bytes(plugin); !lack.empty()) {
      return error{.code = errc::library_missing, .message = fmt::format("backend {}", lack)};
    }
    // Never closed: the driver behind it has threads of its own.
    void* library = ::dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      return error{.code = errc::library_missing,
                   .message = fmt::format("backend {}: {}", plugin, ::dlerror())};
    }
    return provider(library);
  }

  /// False for a backend without devices of its own.
  [[nodiscard]] bool has_devices() const noexcept { return open_ != nullptr; }

  [[nodiscard]] result<std::vector<device_description>> devices() const {
    std::vector<device_description> found;
    result<void> outcome;
    list_(found, outcome);
    if (!outcome) return std::move(outcome).error();
    return found;
  }
  [[nodiscard]] result<std::shared_ptr<device_source>> open(std::int32_t ordinal) const {
    std::shared_ptr<device_source> opened;
    result<void> outcome;
    open_(ordinal, opened, outcome);
    if (!outcome) return std::move(outcome).error();
    return opened;
  }

 private:
  explicit provider(void* library) noexcept
      : list_(reinterpret_cast<list_devices*>(::dlsym(library, "troupe_backend_devices"))),
        open_(reinterpret_cast<open_device*>(::dlsym(library, "troupe_backend_open"))) {}

  list_devices* list_;
  open_device* open_;
};

result<backend_kind> wanted(const device_config& config) {
  if (config.backend != backend_kind::automatic) return config.backend;
  const char* text = std::getenv("TROUPE_BACKEND");  // NOLINT(concurrency-mt-unsafe): only read
  const std::string_view named = text != nullptr ? text : "";
  if (named.empty()) return backend_kind::automatic;
  if (named == "cpu") return backend_kind::cpu;
  if (named == "cuda") return backend_kind::cuda;
  return error{.code = errc::invalid_argument,
               .message = fmt::format("TROUPE_BACKEND is \"{}\"; it may be cpu or cuda", named)};
}

chosen_backend without_devices(std::string plugin) {
  return {.plugin = std::move(plugin), .description = {.name = "CPU"}};
}

using opened_device = std::shared_ptr<device_source>;

result<opened_device> open_by_uuid(const provider& from, const std::string& uuid) {
  auto devices = from.devices();
  if (!devices) return std::move(devices).error();
  std::vector<const device_description*> meant;
  std::string there;
  for (const device_description& one : *devices) {
    // A unique beginning is enough, as in CUDA_VISIBLE_DEVICES.
    if (!uuid.empty() && one.uuid.starts_with(uuid)) meant.push_back(&one);
    there += fmt::format("{}{} ({})", there.empty() ? "" : ", ", one.uuid, one.name);
  }
  if (meant.size() == 1) return from.open(meant.front()->ordinal);
  if (meant.empty()) {
    return error{.code = errc::device_unavailable,
                 .message = fmt::format("no device has the UUID \"{}\"; there are: {}", uuid,
                                        there.empty() ? "none" : there)};
  }
  return error{.code = errc::invalid_argument,
               .message = fmt::format("{} devices have UUIDs that begin with \"{}\": {}",
                                      meant.size(), uuid, there)};
}

std::uint64_t free_bytes_of(device_source& device) {
  const auto now = device.level();
  return now ? now->free : device.description().memory_bytes;
}

result<opened_device> open_any(const provider& from, std::span<const std::string> in_use) {
  auto devices = from.devices();
  if (!devices) return std::move(devices).error();
  opened_device best;
  std::pair<bool, std::uint64_t> best_rank;  // unused by other devices, free bytes
  std::string problems;
  for (const device_description& one : *devices) {
    auto opened = from.open(one.ordinal);
    if (!opened) {
      problems += fmt::format("; {}", opened.error().message);
      continue;
    }
    const std::pair rank(std::ranges::find(in_use, one.uuid) == in_use.end(),
                         free_bytes_of(**opened));
    if (best && rank <= best_rank) continue;
    best = *std::move(opened);
    best_rank = rank;
  }
  if (best) return best;
  return error{
      .code = errc::device_unavailable,
      .message = fmt::format("none of {} devices can be used{}", devices->size(), problems)};
}

result<opened_device> open_chosen(const provider& from, std::int32_t ordinal,
                                  const gpu_choice& choice, std::span<const std::string> in_use) {
  switch (choice.what) {
    case gpu_choice::kind::same_number:
      return from.open(ordinal);
    case gpu_choice::kind::number:
      return from.open(choice.index);
    case gpu_choice::kind::uuid:
      return open_by_uuid(from, choice.name);
    case gpu_choice::kind::any:
      return open_any(from, in_use);
  }
  return error{.code = errc::invalid_argument,
               .message = fmt::format(
                   "device_config::gpu must have one of the kinds of gpu_choice; its kind is {}",
                   static_cast<int>(choice.what))};
}

result<chosen_backend> open_in(const std::string& plugin, std::int32_t ordinal,
                               const device_config& config, std::span<const std::string> in_use) {
  auto found = provider::load(plugin);
  if (!found) return std::move(found).error();
  if (!found->has_devices()) return without_devices(plugin);
  auto source = open_chosen(*found, ordinal, config.gpu, in_use);
  if (!source) return std::move(source).error();
  device_description description = (*source)->description();
  return chosen_backend{
      .plugin = plugin, .source = *std::move(source), .description = std::move(description)};
}

bool names_a_gpu(const gpu_choice& choice) {
  return choice.what == gpu_choice::kind::number || choice.what == gpu_choice::kind::uuid;
}

}  // namespace

result<chosen_backend> choose_backend(std::int32_t ordinal, const device_config& config,
                                      std::span<const std::string> in_use) {
  if (!config.backend_path.empty()) {
    auto chosen = open_in(config.backend_path, ordinal, config, in_use);
    // The worker that cannot load it reports why.
    if (chosen || chosen.error().code != errc::library_missing) return chosen;
    return without_devices(config.backend_path);
  }
  auto kind = wanted(config);
  if (!kind) return std::move(kind).error();
  if (*kind != backend_kind::cpu) {
    auto cuda = open_in(backend_plugin("cuda"), ordinal, config, in_use);
    if (cuda || *kind == backend_kind::cuda || names_a_gpu(config.gpu)) return cuda;
  }
  return without_devices(backend_plugin("cpu"));
}

result<std::vector<device_description>> cuda_devices() {
  auto found = provider::load(backend_plugin("cuda"));
  if (!found) return std::move(found).error();
  return found->devices();
}

}  // namespace troupe
