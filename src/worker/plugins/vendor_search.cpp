#include "worker/plugins/vendor_search.hpp"

#include <troupe/plugin/vendor_library.hpp>

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace troupe::worker {
namespace {

namespace fs = std::filesystem;

// A library, what it needs, and what that needs.
constexpr int deepest = 4;

// Lies where this library does.
const char self_address = 0;

std::string environment(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value != nullptr ? value : "";
}

/// Folders that exist, in the order in which they were added.
class folder_list {
 public:
  void add(const fs::path& folder) {
    std::error_code failed;
    const fs::path real = fs::canonical(folder, failed);
    if (failed || !fs::is_directory(real, failed)) return;
    std::string name = real.string();
    if (std::ranges::find(found_, name) == found_.end()) found_.push_back(std::move(name));
  }
  /// Folders below one, whose names begin so, in reverse order: newer versions first.
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
  /// NVIDIA's wheels in a folder of Python packages.
  void add_packages(const fs::path& packages) {
    each(packages / "nvidia", "", [&](const fs::path& one) { add(one / "lib"); });
    add(packages / "cutensor" / "lib");
  }
  /// Those of an environment, or of a system's Python.
  void add_python(const fs::path& prefix) {
    each(prefix / "lib", "python3", [&](const fs::path& python) {
      add_packages(python / "site-packages");
      add_packages(python / "dist-packages");
    });
  }

  [[nodiscard]] std::vector<std::string> take() && { return std::move(found_); }

 private:
  std::vector<std::string> found_;
};

// The prefix of the Python that a process runs, as it was called: bin/python of an environment is a
// link to the system's, which would say nothing of the environment.
fs::path python_prefix_of(pid_t process) {
  std::ifstream line(fmt::format("/proc/{}/cmdline", process), std::ios::binary);
  std::string program;
  std::getline(line, program, '\0');
  const fs::path path(program);
  if (!path.filename().string().starts_with("python")) return {};
  if (path.has_parent_path()) return path.parent_path().parent_path();
  std::error_code failed;
  const fs::path real = fs::read_symlink(fmt::format("/proc/{}/exe", process), failed);
  return failed ? fs::path() : real.parent_path().parent_path();
}

// As many as a message has room for.
std::string listed(const std::vector<std::string>& folders) {
  constexpr std::size_t room = 1200;
  std::string text;
  for (std::size_t i = 0; i < folders.size(); ++i) {
    if (text.size() + folders[i].size() > room) {
      return text + fmt::format(", and {} more", folders.size() - i);
    }
    text += (i == 0 ? "" : ", ") + folders[i];
  }
  return text;
}

/// Null and the loader's words where it cannot be loaded.
void* open_file(const std::string& file, std::string& words) {
  void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return handle;
  const char* const said = ::dlerror();
  words = said != nullptr ? said : "";
  return nullptr;
}

class search {
 public:
  explicit search(const std::vector<std::string>& folders) noexcept : folders_(folders) {}

  /// True when the library is loaded.
  bool load(const std::string& name, int depth = 0) {
    if (depth == deepest) return false;
    for (const std::string& folder : folders_) {
      const std::string file = fmt::format("{}/{}", folder, name);
      if (::access(file.c_str(), R_OK) != 0) continue;
      if (open(file)) return true;
      const std::string needed(file_not_found(words_));
      if (!needed.empty() && needed != name && load(needed, depth + 1) && open(file)) return true;
      refused_.push_back(fmt::format("{}: {}", file, words_));
    }
    return false;
  }
  /// What `load` has loaded last.
  [[nodiscard]] void* handle() const noexcept { return handle_; }
  /// What was found, and is of no use.
  [[nodiscard]] const std::vector<std::string>& refused() const noexcept { return refused_; }

 private:
  // Never closed: the plugin needs it.
  bool open(const std::string& file) { return (handle_ = open_file(file, words_)) != nullptr; }

  const std::vector<std::string>& folders_;
  void* handle_ = nullptr;
  std::string words_;
  std::vector<std::string> refused_;
};

std::string not_found_in(const search& vendor, const std::vector<std::string>& folders) {
  return vendor.refused().empty()
             ? fmt::format("; it is in none of {}", listed(folders))
             : fmt::format("; what was found is of no use: {}", fmt::join(vendor.refused(), "; "));
}

}  // namespace

// The loader begins with the file that it could not find: "libcublas.so.13: cannot open …".
std::string_view file_not_found(std::string_view words) noexcept {
  const std::size_t end = words.find(": cannot open shared object file");
  if (end == std::string_view::npos) return {};
  const std::string_view file = words.substr(0, end);
  return file.find('/') == std::string_view::npos && file.starts_with("lib") ? file
                                                                             : std::string_view();
}

std::vector<std::string> vendor_folders(const std::string& plugin) {
  folder_list all;
  for (const char* const name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const std::string toolkit = environment(name); !toolkit.empty()) all.add_toolkit(toolkit);
  }
  all.add_toolkit("/usr/local/cuda");
  folder_list::each("/usr/local", "cuda-", [&](const fs::path& one) { all.add_toolkit(one); });
  folder_list::each("/usr/lib", "", [&](const fs::path& one) {
    if (one.filename().string().ends_with("-linux-gnu")) all.add(one);
  });
  for (const char* const name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const std::string prefix = environment(name); !prefix.empty()) all.add_python(prefix);
  }
  // The program's, which for a worker process is its parent.
  for (const pid_t process : {::getpid(), ::getppid()}) {
    if (const fs::path prefix = python_prefix_of(process); !prefix.empty()) all.add_python(prefix);
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
                                                  const std::vector<std::string>& folders) {
  search vendor(folders);
  std::string last;
  for (;;) {
    auto opened = plugin_library::open(path);
    if (opened) return opened;
    error& why = opened.error();
    const std::string needed(file_not_found(why.message));
    if (needed.empty()) return opened;
    // One that is loaded and not found all the same has another name inside.
    if (needed != last && vendor.load(needed)) {
      last = needed;
      continue;
    }
    why.message += not_found_in(vendor, folders);
    return opened;
  }
}

}  // namespace troupe::worker

namespace troupe {

result<void*> open_vendor_library(const std::string& name) {
  std::string words;
  if (void* const handle = worker::open_file(name, words)) return handle;
  // Where this library is installed, the plugins are.
  Dl_info self{};
  const bool known = ::dladdr(&worker::self_address, &self) != 0 && self.dli_fname != nullptr;
  const std::vector<std::string> folders = worker::vendor_folders(known ? self.dli_fname : "");
  worker::search vendor(folders);
  if (vendor.load(name)) return vendor.handle();
  return error{.code = errc::library_missing,
               .message = words + worker::not_found_in(vendor, folders),
               .call = "dlopen"};
}

}  // namespace troupe
