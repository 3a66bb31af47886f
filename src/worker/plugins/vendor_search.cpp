#include "worker/plugins/vendor_search.hpp"

#include <troupe/plugin/vendor_library.hpp>

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace troupe::worker {
namespace {

namespace fs = std::filesystem;

// A library, its dependencies, and theirs.
constexpr int deepest = 4;

// An address in this library.
const char self_address = 0;

std::atomic<bool> beside_parent{false};

/// True if any user may put a library there: the folder is writable for all, or can be replaced
/// because one above it is, unless that one is sticky as /tmp is.
bool is_open_to_others(const fs::path& real) {
  for (fs::path at = real; at.has_relative_path(); at = at.parent_path()) {
    struct stat found{};
    if (::stat(at.c_str(), &found) != 0) return true;
    const bool kept = at != real && (found.st_mode & S_ISVTX) != 0;
    if ((found.st_mode & S_IWOTH) != 0 && !kept) return true;
  }
  return false;
}

/// Existing folders, in the order in which they were added.
class folder_list {
 public:
  void add(const fs::path& folder) {
    std::error_code failed;
    const fs::path real = fs::canonical(folder, failed);
    if (failed || !fs::is_directory(real, failed)) return;
    std::string name = real.string();
    if (std::ranges::find(seen_, name) != seen_.end()) return;
    seen_.push_back(name);
    if (is_open_to_others(real)) {
      found_.refused.push_back(name + " (any user may write there)");
    } else {
      found_.folders.push_back(std::move(name));
    }
  }
  /// Calls `use` with the value of each environment variable. Does nothing in a program that runs
  /// with more rights than its caller.
  template <class Use>
  void each_named(std::initializer_list<const char*> variables, Use use) {
    for (const char* const name : variables) {
      const char* const value = ::secure_getenv(name);
      if (value == nullptr || *value == '\0') continue;
      if (fs::path(value).is_absolute()) {
        use(fs::path(value));
      } else {
        found_.refused.push_back(fmt::format("{}={} (no absolute path)", name, value));
      }
    }
  }
  /// Calls `use` for folders whose names begin so, in reverse order: newer versions first.
  template <class Use>
  static void each(const fs::path& below, std::string_view beginning, Use use) {
    std::error_code failed;
    std::vector<fs::path> all;
    for (const auto& one : fs::directory_iterator(below, failed)) {
      if (one.path().filename().string().starts_with(beginning)) all.push_back(one.path());
    }
    std::ranges::sort(all, std::ranges::greater());
    for (const fs::path& one : all)
      use(one);
  }

  void add_toolkit(const fs::path& toolkit) {
    add(toolkit / "lib64");
    add(toolkit / "lib");
    each(toolkit / "targets", "", [&](const fs::path& target) { add(target / "lib"); });
  }
  /// Adds NVIDIA's wheels in a folder of Python packages.
  void add_packages(const fs::path& packages) {
    each(packages / "nvidia", "", [&](const fs::path& one) { add(one / "lib"); });
    add(packages / "cutensor" / "lib");
  }
  /// Adds the packages of an environment, or of a system's Python.
  void add_python(const fs::path& prefix) {
    each(prefix / "lib", "python3", [&](const fs::path& python) {
      add_packages(python / "site-packages");
      add_packages(python / "dist-packages");
    });
  }

  [[nodiscard]] vendor_places take() && { return std::move(found_); }

 private:
  vendor_places found_;
  std::vector<std::string> seen_;
};

// The prefix of the Python that a process runs, by the name it was called with: bin/python of an
// environment is a link to the system's Python, which does not show the environment. The caller of
// a process chooses that name, so it counts only if the process belongs to this user, and only as
// an absolute path.
fs::path python_prefix_of(const std::string& process) {
  struct stat owned{};
  if (::stat(process.c_str(), &owned) != 0 || owned.st_uid != ::geteuid() ||
      ::getauxval(AT_SECURE) != 0) {
    return {};
  }
  std::ifstream line(process + "/cmdline", std::ios::binary);
  std::string program;
  std::getline(line, program, '\0');
  const fs::path path(program);
  if (!path.filename().string().starts_with("python")) return {};
  if (path.is_absolute()) return path.parent_path().parent_path();
  std::error_code failed;
  const fs::path real = fs::read_symlink(process + "/exe", failed);
  return failed ? fs::path() : real.parent_path().parent_path();
}

// As many folders as fit a message.
std::string listed(const std::vector<std::string>& folders, std::size_t most_bytes) {
  std::string text;
  for (std::size_t i = 0; i < folders.size(); ++i) {
    if (text.size() + folders[i].size() > most_bytes) {
      return text + fmt::format(", and {} more", folders.size() - i);
    }
    text += (i == 0 ? "" : ", ") + folders[i];
  }
  return text;
}

/// Null, and the loader's message in `message`, if it cannot be loaded.
void* open_file(const std::string& file, std::string& message) {
  void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return handle;
  const char* const text = ::dlerror();
  message = text != nullptr ? text : "";
  return nullptr;
}

class search {
 public:
  explicit search(const std::vector<std::string>& folders) noexcept : folders_(folders) {}

  /// True if the library is loaded.
  bool load(const std::string& name, int depth = 0) {
    if (depth == deepest) return false;
    for (const std::string& folder : folders_) {
      const std::string file = fmt::format("{}/{}", folder, name);
      if (::access(file.c_str(), R_OK) != 0) continue;
      if (open(file)) return true;
      const std::string needed(file_not_found(message_));
      if (!needed.empty() && needed != name && load(needed, depth + 1) && open(file)) return true;
      refused_.push_back(fmt::format("{}: {}", file, message_));
    }
    return false;
  }
  /// The library that `load` has loaded last.
  [[nodiscard]] void* handle() const noexcept { return handle_; }
  /// Files that were found but cannot be used.
  [[nodiscard]] const std::vector<std::string>& refused() const noexcept { return refused_; }

 private:
  // Never closed: the plugin needs it.
  bool open(const std::string& file) { return (handle_ = open_file(file, message_)) != nullptr; }

  const std::vector<std::string>& folders_;
  void* handle_ = nullptr;
  std::string message_;
  std::vector<std::string> refused_;
};

std::string not_found_in(const search& vendor, const vendor_places& places) {
  std::string text =
      vendor.refused().empty()
          ? fmt::format("; it is in none of {}", listed(places.folders, 1000))
          : fmt::format("; the files found cannot be used: {}", fmt::join(vendor.refused(), "; "));
  if (!places.refused.empty())
    text += fmt::format("; it was not looked for in {}", listed(places.refused, 400));
  return text;
}

}  // namespace

// The loader's message begins with the missing file: "libcublas.so.13: cannot open …".
std::string_view file_not_found(std::string_view message) noexcept {
  const std::size_t end = message.find(": cannot open shared object file");
  if (end == std::string_view::npos) return {};
  const std::string_view file = message.substr(0, end);
  return file.find('/') == std::string_view::npos && file.starts_with("lib") ? file
                                                                             : std::string_view();
}

void look_beside_parent() noexcept { beside_parent = true; }

vendor_places vendor_folders(const std::string& plugin) {
  folder_list all;
  all.each_named({"CUDA_HOME", "CUDA_PATH"},
                 [&](const fs::path& toolkit) { all.add_toolkit(toolkit); });
  all.add_toolkit("/usr/local/cuda");
  folder_list::each("/usr/local", "cuda-", [&](const fs::path& one) { all.add_toolkit(one); });
  folder_list::each("/usr/lib", "", [&](const fs::path& one) {
    if (one.filename().string().ends_with("-linux-gnu")) all.add(one);
  });
  all.each_named({"VIRTUAL_ENV", "CONDA_PREFIX"},
                 [&](const fs::path& prefix) { all.add_python(prefix); });
  if (const fs::path own = python_prefix_of("/proc/self"); !own.empty()) all.add_python(own);
  if (beside_parent) {
    const fs::path program = python_prefix_of(fmt::format("/proc/{}", ::getppid()));
    if (!program.empty()) all.add_python(program);
  }
  for (fs::path at = fs::path(plugin).parent_path(); at.has_relative_path();
       at = at.parent_path()) {
    const std::string name = at.filename().string();
    if (name == "site-packages" || name == "dist-packages") all.add_packages(at);
  }
  for (const char* const prefix : {"/usr/local", "/usr"})
    all.add_python(prefix);
  folder_list::each("/opt", "", [&](const fs::path& one) { all.add_python(one); });
  return std::move(all).take();
}

result<plugin_library> open_with_vendor_libraries(const std::string& path,
                                                  const vendor_places& places) {
  search vendor(places.folders);
  std::string last;
  for (;;) {
    auto opened = plugin_library::open(path);
    if (opened) return opened;
    error& why = opened.error();
    const std::string needed(file_not_found(why.message));
    if (needed.empty()) return opened;
    // A library that was loaded but still is not found has another name inside.
    if (needed != last && vendor.load(needed)) {
      last = needed;
      continue;
    }
    why.message += not_found_in(vendor, places);
    return opened;
  }
}

}  // namespace troupe::worker

namespace troupe {

result<void*> open_vendor_library(const std::string& name) {
  std::string message;
  if (void* const handle = worker::open_file(name, message)) return handle;
  // The plugins are installed beside this library.
  Dl_info self{};
  const bool known = ::dladdr(&worker::self_address, &self) != 0 && self.dli_fname != nullptr;
  const worker::vendor_places places = worker::vendor_folders(known ? self.dli_fname : "");
  worker::search vendor(places.folders);
  if (vendor.load(name)) return vendor.handle();
  return error{.code = errc::library_missing,
               .message = message + worker::not_found_in(vendor, places),
               .call = "dlopen"};
}

}  // namespace troupe
