#include "jit/client/toolchain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace troupe::jit {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value != nullptr ? value : "";
}

std::optional<std::string> identity_of(const fs::path& file) {
  struct stat found{};
  if (::stat(file.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
  std::error_code failed;
  const fs::path real = fs::canonical(file, failed);
  return fmt::format("{} {} {}.{:09}", failed ? file.string() : real.string(), found.st_size,
                     found.st_mtim.tv_sec, found.st_mtim.tv_nsec);
}

class folder_list {
 public:
  void add(std::string folder) {
    if (!folder.empty() && std::ranges::find(folders_, folder) == folders_.end()) {
      folders_.push_back(std::move(folder));
    }
  }
  [[nodiscard]] const std::vector<std::string>& all() const noexcept { return folders_; }

 private:
  std::vector<std::string> folders_;
};

std::vector<std::string> toolkits() {
  folder_list found;
  found.add(environment("CUDA_HOME"));
  found.add(environment("CUDA_PATH"));
  found.add("/usr/local/cuda");
  return found.all();
}

void add_configured_by_loader(folder_list& to) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator("/etc/ld.so.conf.d", failed))
    if (entry.path().extension() == ".conf") files.push_back(entry.path());
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with('/')) to.add(line.substr(0, line.find_first_of(" \t#")));
  }
}

std::vector<std::string> library_folders() {
  folder_list found;
  const std::string path = environment("LD_LIBRARY_PATH");
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    found.add(path.substr(begin, end - begin));
    begin = end + 1;
  }
  add_configured_by_loader(found);
  for (const std::string& toolkit : toolkits())
    found.add(toolkit + "/lib64");
  found.add("/lib/x86_64-linux-gnu");
  found.add("/usr/lib/x86_64-linux-gnu");
  found.add("/usr/lib64");
  found.add("/usr/lib");
  return found.all();
}

}  // namespace

result<vendor_file> find_library(const wanted_library& wanted) {
  if (!wanted.configured.empty()) {
    if (auto identity = identity_of(wanted.configured)) {
      return vendor_file{.path = wanted.configured, .identity = *std::move(identity)};
    }
    return error{.code = errc::library_missing,
                 .message = fmt::format("{} is not at {}, where compiler_config::{} says",
                                        wanted.product, wanted.configured, wanted.setting)};
  }
  const std::vector<std::string> folders = library_folders();
  for (const std::string& folder : folders) {
    const fs::path file = fs::path(folder) / wanted.soname;
    if (auto identity = identity_of(file)) {
      return vendor_file{.path = file.string(), .identity = *std::move(identity)};
    }
  }
  return error{.code = errc::library_missing,
               .message = fmt::format(
                   "{}: no {} in {}; install it with CUDA 13, put its folder into "
                   "LD_LIBRARY_PATH, or name the file by compiler_config::{}",
                   wanted.product, wanted.soname, fmt::join(folders, ", "), wanted.setting)};
}

result<vendor_file> find_toolkit_headers(const std::string& library) {
  folder_list folders;
  // <toolkit>/lib64/x and <toolkit>/targets/<target>/lib/x, also through links.
  std::error_code failed;
  const fs::path real = fs::canonical(library, failed);
  for (const fs::path& file : {fs::path(library), failed ? fs::path(library) : real})
    folders.add((file.parent_path().parent_path() / "include").string());
  for (const std::string& toolkit : toolkits())
    folders.add(toolkit + "/include");
  for (const std::string& folder : folders.all()) {
    if (auto identity = identity_of(fs::path(folder) / "cuda_runtime.h")) {
      return vendor_file{.path = folder, .identity = *std::move(identity)};
    }
  }
  return error{.code = errc::library_missing,
               .message = fmt::format("the headers of CUDA: no cuda_runtime.h in {}; install the "
                                      "toolkit, or set CUDA_HOME to its folder",
                                      fmt::join(folders.all(), ", "))};
}

std::string driver_version() {
  std::ifstream file("/sys/module/nvidia/version");
  std::string version;
  return std::getline(file, version) ? version : "none";
}

}  // namespace troupe::jit
