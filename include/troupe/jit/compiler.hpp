#pragma once

#include <troupe/core/future.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {
class device;
}

namespace troupe::jit {

/// The format of a compiled image.
enum class image_kind : std::uint8_t {
  cubin,   ///< machine code of one architecture
  ptx,     ///< text that a worker's driver compiles for its GPU
  lto_ir,  ///< intermediate code to be linked
  fatbin,  ///< several of these, made by nvcc; cannot be produced here
};

/// A header in memory, found by `#include "name"` and `#include <name>`.
struct header {
  std::string name{};  ///< as it is included, with folders: "lib/add.cuh"
  std::string text{};
};

/// CUDA C++ source to compile.
struct source {
  std::string text{};
  std::string name = "kernel.cu";  ///< used in the compiler's messages
  std::vector<header> headers{};
  /// NVRTC options, such as "--use_fast_math" or "-DN=4", but not the architecture, which has its
  /// own field. A compilation with folders on disk ("-I…", "-include=…") is never cached, because
  /// the compiler does not report which files it read there.
  std::vector<std::string> options{};
  /// C++ name expressions of the kernels to instantiate, such as "scale<float>" or "&my::add<3>".
  /// An `extern "C"` kernel needs none.
  std::vector<std::string> names{};
  /// Matched exactly: "sm_90a" differs from "sm_90". PTX uses the virtual architecture of that
  /// number.
  std::string architecture{};
  image_kind output = image_kind::cubin;  ///< not `fatbin`
  /// Lets the source include the toolkit's headers (`cooperative_groups.h`, `cuda/barrier`, …), if
  /// a toolkit is installed.
  bool toolkit_headers = false;
};

/// A name expression and its lowered name in the image.
struct lowered_name {
  std::string expression{};
  std::string lowered{};
};

/// The origin of a binary.
enum class origin : std::uint8_t { compiled, memory_cache, disk_cache };

/// A compiled or linked image, or one read from the user's own file.
struct binary {
  image_kind kind = image_kind::cubin;
  std::vector<std::byte> image{};
  std::vector<lowered_name> names{};
  std::string architecture{};  ///< empty if unknown
  std::string log{};           ///< the compiler's full log: warnings, notes
  origin from = origin::compiled;
};

/// Pieces to link into one image with nvJitLink.
struct linkage {
  std::vector<binary> pieces{};           ///< LTO-IR, PTX, cubin or fatbin
  std::vector<std::string> options{};     ///< nvJitLink's, such as "-kernels-used=…"
  std::string architecture{};             ///< as in `source`
  image_kind output = image_kind::cubin;  ///< or `ptx`, possible only from LTO-IR
};

/// Resource limits of one compilation.
struct compile_limits {
  std::chrono::nanoseconds time = std::chrono::seconds(60);
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;  ///< address space of the compiler process
};

/// Configuration of a compiler. The defaults suit most programs.
struct compiler_config {
  compile_limits limits{};
  int processes = 2;  ///< compilations that run at once; others wait
  std::uint64_t memory_cache_bytes = std::uint64_t{64} << 20;
  /// Size limit of the folder; the least recently used entries are removed first.
  std::uint64_t disk_cache_bytes = std::uint64_t{512} << 20;
  bool disk_cache = true;
  /// If empty: troupe/kernels in $XDG_CACHE_HOME, or in ~/.cache. Created if it does not exist. A
  /// folder that belongs to another user, or that others may access, is not used: see
  /// `compiler::disk_cache`.
  std::string cache_folder{};
  std::string compiler_path{};   ///< the compiler program; if empty, looks beside the library
  std::string nvrtc_path{};      ///< libnvrtc.so.13; if empty, looks where the loader looks
  std::string nvjitlink_path{};  ///< libnvJitLink.so.13; likewise
};

/// Counters of a compiler.
struct compiler_statistics {
  std::uint64_t memory_hits = 0;
  std::uint64_t disk_hits = 0;
  std::uint64_t compiled = 0;  ///< including linked
  std::uint64_t failed = 0;
  std::uint64_t damaged_entries = 0;  ///< in the disk cache: discarded and compiled again
};

/// Compiles CUDA C++ and links the results. Each compilation runs in its own process, so that it
/// cannot block a lane or harm the program. Results are cached in memory and on disk. Needs NVRTC
/// (and nvJitLink for linking), but no GPU. Thread-safe.
class TROUPE_EXPORT compiler {
 public:
  explicit compiler(compiler_config config = {});
  /// Ends running compilations; their futures fail with `cancelled`. Waits for running
  /// continuations, except the one that it is called from.
  ~compiler();
  compiler(const compiler&) = delete;
  compiler& operator=(const compiler&) = delete;

  /// Does not wait.
  /// \errors `invalid_argument` for an impossible architecture or header, or a name that contains a
  /// NUL; `library_missing` without NVRTC, with the paths that were tried; `library_error` from
  /// NVRTC, with its code and the full log in `message`; `deadline_exceeded` and `out_of_memory` if
  /// a limit is exceeded; `worker_not_found` without the compiler program; `system_error` if no
  /// thread can be started; `cancelled`
  [[nodiscard]] future<binary> compile(source what);
  /// Keeps the pieces' lowered names. \errors as `compile`, from nvJitLink
  [[nodiscard]] future<binary> link(linkage what);

  [[nodiscard]] compiler_statistics statistics() const;
  /// Succeeds if the disk cache is in use; otherwise gives the reason. Compilations work without
  /// it.
  /// \errors `invalid_argument` for a folder with the wrong owner or mode, with both; `unsupported`
  /// if it is turned off; `system_error`
  [[nodiscard]] result<void> disk_cache() const;

 private:
  class service;
  std::shared_ptr<service> service_;
};

/// The architecture that gives access to all features of the device's GPU: "sm_90a" for an H100.
/// \errors `unsupported` for a device that is not a GPU
[[nodiscard]] TROUPE_EXPORT result<std::string> architecture_of(const device& gpu);

}  // namespace troupe::jit
