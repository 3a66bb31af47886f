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

/// What a compiled image is.
enum class image_kind : std::uint8_t {
  cubin,   ///< machine code of one architecture
  ptx,     ///< text that a worker's driver compiles for its GPU
  lto_ir,  ///< a piece to be linked
  fatbin,  ///< several of these, from nvcc; nothing here makes one
};

/// A file that `#include "name"` or `#include <name>` finds without there being one on disk.
struct header {
  std::string name{};  ///< as it is included, folders and all: "lib/add.cuh"
  std::string text{};
};

/// CUDA C++ to be compiled.
struct source {
  std::string text{};
  std::string name = "kernel.cu";  ///< in the compiler's messages
  std::vector<header> headers{};
  /// NVRTC's, such as "--use_fast_math" or "-DN=4". Not the architecture, which has its field.
  /// What is compiled with folders on disk ("-I…", "-include=…") is never cached, because nobody
  /// tells what was read there.
  std::vector<std::string> options{};
  /// Kernels by C++ expressions, as "scale<float>" or "&my::add<3>": an instantiation each. A
  /// kernel that is `extern "C"` needs none.
  std::vector<std::string> names{};
  /// Exactly: "sm_90a" is not "sm_90". For PTX the virtual architecture of that number is taken.
  std::string architecture{};
  image_kind output = image_kind::cubin;  ///< not `fatbin`
  /// Lets the source include the toolkit's headers (`cooperative_groups.h`, `cuda/barrier`, …),
  /// where a toolkit is installed.
  bool toolkit_headers = false;
};

/// What a name expression became in the image.
struct lowered_name {
  std::string expression{};
  std::string lowered{};
};

/// Where a binary came from.
enum class origin : std::uint8_t { compiled, memory_cache, disk_cache };

/// What was compiled or linked, or read from a file of the user's own.
struct binary {
  image_kind kind = image_kind::cubin;
  std::vector<std::byte> image{};
  std::vector<lowered_name> names{};
  std::string architecture{};  ///< "" where nobody has said
  std::string log{};           ///< the compiler's, in full: warnings, notes
  origin from = origin::compiled;
};

/// Pieces to be linked into one image by nvJitLink.
struct linkage {
  std::vector<binary> pieces{};           ///< LTO-IR, PTX, cubin or fatbin
  std::vector<std::string> options{};     ///< nvJitLink's, such as "-kernels-used=…"
  std::string architecture{};             ///< as in `source`
  image_kind output = image_kind::cubin;  ///< or `ptx`, which only LTO-IR can become
};

/// What one compilation may take.
struct compile_limits {
  std::chrono::nanoseconds time = std::chrono::seconds(60);
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;  ///< of addresses, the compiler's own too
};

/// How a compiler is made. The defaults are meant to be right.
struct compiler_config {
  compile_limits limits{};
  int processes = 2;  ///< compilations that run at once; others wait
  std::uint64_t memory_cache_bytes = std::uint64_t{64} << 20;
  /// Of the folder; what was used longest ago goes first.
  std::uint64_t disk_cache_bytes = std::uint64_t{512} << 20;
  bool disk_cache = true;
  /// Empty: troupe/kernels in $XDG_CACHE_HOME, or in ~/.cache. Made if it is not there. One that is
  /// not this user's, or that others may enter, is left alone: see `compiler::disk_cache`.
  std::string cache_folder{};
  std::string compiler_path{};   ///< of the compiler program; empty looks beside the library
  std::string nvrtc_path{};      ///< of libnvrtc.so.13; empty looks where the loader does
  std::string nvjitlink_path{};  ///< of libnvJitLink.so.13; the same
};

/// What a compiler has done.
struct compiler_statistics {
  std::uint64_t memory_hits = 0;
  std::uint64_t disk_hits = 0;
  std::uint64_t compiled = 0;  ///< and linked
  std::uint64_t failed = 0;
  std::uint64_t damaged_entries = 0;  ///< of the cache on disk: dropped, and compiled again
};

/// Compiles CUDA C++ and links what was compiled, each time in a process of its own, so that no
/// compilation blocks a lane or harms the program. Keeps what it has made, in memory and on disk.
/// Needs NVRTC (and for linking, nvJitLink) and no GPU. Any thread may use it.
class TROUPE_EXPORT compiler {
 public:
  explicit compiler(compiler_config config = {});
  /// Ends what is running; its futures fail with `cancelled`. Waits for continuations that run, but
  /// for the one that it is called in.
  ~compiler();
  compiler(const compiler&) = delete;
  compiler& operator=(const compiler&) = delete;

  /// Does not wait.
  /// \errors `invalid_argument` for an architecture or a header that cannot be, a name with a NUL;
  /// `library_missing` without NVRTC, with what was tried; `library_error` of NVRTC with its code
  /// and, in `message`, the whole log; `deadline_exceeded` and `out_of_memory` beyond the limits;
  /// `worker_not_found` without the compiler program; `system_error` where no thread can be
  /// started; `cancelled`
  [[nodiscard]] future<binary> compile(source what);
  /// The pieces' lowered names come along. \errors as `compile`, of nvJitLink
  [[nodiscard]] future<binary> link(linkage what);

  [[nodiscard]] compiler_statistics statistics() const;
  /// Why the cache on disk is not in use, if it is not: compilations go on without.
  /// \errors `invalid_argument` for a folder with another owner or mode, with both; `unsupported`
  /// where it is off; `system_error`
  [[nodiscard]] result<void> disk_cache() const;

 private:
  class service;
  std::shared_ptr<service> service_;
};

/// The architecture to compile for that has all that the device's GPU has: "sm_90a" for an H100.
/// \errors `unsupported` for a device that is no GPU
[[nodiscard]] TROUPE_EXPORT result<std::string> architecture_of(const device& gpu);

}  // namespace troupe::jit
