#include "device/backend_choice.hpp"

#include "device/locate.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

namespace troupe {
namespace {

// The program's side of a backend; the worker loads the same file for its own.
class provider {
 public:
  static result<provider> load(const std::string& plugin) {
    // Never closed: the driver behind it keeps threads of its own.
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

result<chosen_backend> open_in(const std::string& plugin, std::int32_t ordinal) {
  auto found = provider::load(plugin);
  if (!found) return std::move(found).error();
  if (!found->has_devices()) return chosen_backend{.plugin = plugin};
  auto source = found->open(ordinal);
  if (!source) return std::move(source).error();
  std::string uuid = (*source)->description().uuid;
  return chosen_backend{.plugin = plugin, .source = *std::move(source), .device = std::move(uuid)};
}

}  // namespace

result<chosen_backend> choose_backend(std::int32_t ordinal, const device_config& config) {
  if (!config.backend_path.empty()) {
    auto chosen = open_in(config.backend_path, ordinal);
    // The worker that cannot load it says so.
    if (chosen || chosen.error().code != errc::library_missing) return chosen;
    return chosen_backend{.plugin = config.backend_path};
  }
  auto kind = wanted(config);
  if (!kind) return std::move(kind).error();
  if (*kind != backend_kind::cpu) {
    auto cuda = open_in(backend_plugin("cuda"), ordinal);
    if (cuda || *kind == backend_kind::cuda) return cuda;
  }
  return chosen_backend{.plugin = backend_plugin("cpu")};
}

result<std::vector<device_description>> cuda_devices() {
  auto found = provider::load(backend_plugin("cuda"));
  if (!found) return std::move(found).error();
  return found->devices();
}

}  // namespace troupe
