#include "jit/compiler/compile.hpp"
#include "jit/compiler/vendor_library.hpp"

#include <array>
#include <string_view>
#include <utility>

// nvJitLink is located at run time, and this is built without its header. Source of names, types
// and numbers: nvJitLink.h of CUDA 13.0.
namespace troupe::jit {
namespace {

using linker = void*;  // nvJitLinkHandle
constexpr int nvjitlink_success = 0;

constexpr std::array<const char*, 19> status_names = {
    "NVJITLINK_SUCCESS",
    "NVJITLINK_ERROR_UNRECOGNIZED_OPTION",
    "NVJITLINK_ERROR_MISSING_ARCH",
    "NVJITLINK_ERROR_INVALID_INPUT",
    "NVJITLINK_ERROR_PTX_COMPILE",
    "NVJITLINK_ERROR_NVVM_COMPILE",
    "NVJITLINK_ERROR_INTERNAL",
    "NVJITLINK_ERROR_THREADPOOL",
    "NVJITLINK_ERROR_UNRECOGNIZED_INPUT",
    "NVJITLINK_ERROR_FINALIZE",
    "NVJITLINK_ERROR_NULL_INPUT",
    "NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS",
    "NVJITLINK_ERROR_INCORRECT_INPUT_TYPE",
    "NVJITLINK_ERROR_ARCH_MISMATCH",
    "NVJITLINK_ERROR_OUTDATED_LIBRARY",
    "NVJITLINK_ERROR_MISSING_FATBIN",
    "NVJITLINK_ERROR_UNRECOGNIZED_ARCH",
    "NVJITLINK_ERROR_UNSUPPORTED_ARCH",
    "NVJITLINK_ERROR_LTO_NOT_ENABLED",
};

// nvJitLinkInputType.
int input_type(image_kind kind) noexcept {
  switch (kind) {
    case image_kind::cubin:
      return 1;
    case image_kind::ptx:
      return 2;
    case image_kind::lto_ir:
      return 3;
    case image_kind::fatbin:
      return 4;
  }
  return 0;
}

struct nvjitlink {
  int (*create)(linker*, std::uint32_t, const char**) = nullptr;
  int (*destroy)(linker*) = nullptr;
  int (*add)(linker, int, const void*, std::size_t, const char*) = nullptr;
  int (*complete)(linker) = nullptr;
  int (*cubin_size)(linker, std::size_t*) = nullptr;
  int (*cubin)(linker, void*) = nullptr;
  int (*ptx_size)(linker, std::size_t*) = nullptr;
  int (*ptx)(linker, char*) = nullptr;
  int (*error_log_size)(linker, std::size_t*) = nullptr;
  int (*error_log)(linker, char*) = nullptr;
  int (*info_log_size)(linker, std::size_t*) = nullptr;
  int (*info_log)(linker, char*) = nullptr;

  [[nodiscard]] static result<nvjitlink> load(const std::string& path) {
    auto library = vendor_library::open(path);
    if (!library) return std::move(library).error();
    nvjitlink n;
    library->find(n.create, "nvJitLinkCreate");
    library->find(n.destroy, "nvJitLinkDestroy");
    library->find(n.add, "nvJitLinkAddData");
    library->find(n.complete, "nvJitLinkComplete");
    library->find(n.cubin_size, "nvJitLinkGetLinkedCubinSize");
    library->find(n.cubin, "nvJitLinkGetLinkedCubin");
    library->find(n.ptx_size, "nvJitLinkGetLinkedPtxSize");
    library->find(n.ptx, "nvJitLinkGetLinkedPtx");
    library->find(n.error_log_size, "nvJitLinkGetErrorLogSize");
    library->find(n.error_log, "nvJitLinkGetErrorLog");
    library->find(n.info_log_size, "nvJitLinkGetInfoLogSize");
    library->find(n.info_log, "nvJitLinkGetInfoLog");
    if (library->missing().empty()) return n;
    return error{.code = errc::library_missing,
                 .message = path + " has no " + library->missing() + ": is it of CUDA 13?",
                 .library = "nvjitlink"};
  }
};

class linking {
 public:
  explicit linking(const nvjitlink& with) noexcept : with_(with) {}
  ~linking() {
    if (linker_ != nullptr) (void)with_.destroy(&linker_);
  }
  linking(const linking&) = delete;
  linking& operator=(const linking&) = delete;

  result<binary> run(const job& what) {
    std::vector<const char*> options;
    options.reserve(what.options.size());
    for (const std::string& option : what.options)
      options.push_back(option.c_str());
    if (const int status =
            with_.create(&linker_, static_cast<std::uint32_t>(options.size()), options.data());
        status != nvjitlink_success) {
      return failure(status, "nvJitLinkCreate");
    }
    binary made{.kind = what.output};
    for (std::size_t i = 0; i < what.pieces.size(); ++i) {
      const binary& piece = what.pieces[i];
      const std::string name = "piece " + std::to_string(i);
      if (const int status = with_.add(linker_, input_type(piece.kind), piece.image.data(),
                                       piece.image.size(), name.c_str());
          status != nvjitlink_success) {
        return failure(status, "nvJitLinkAddData", name + ": ");
      }
      made.names.insert(made.names.end(), piece.names.begin(), piece.names.end());
    }
    if (const int status = with_.complete(linker_); status != nvjitlink_success) {
      return failure(status, "nvJitLinkComplete");
    }
    const bool ptx = what.output == image_kind::ptx;
    std::size_t size = 0;
    int status = ptx ? with_.ptx_size(linker_, &size) : with_.cubin_size(linker_, &size);
    if (status == nvjitlink_success) {
      made.image.resize(size);
      status = ptx ? with_.ptx(linker_, reinterpret_cast<char*>(made.image.data()))
                   : with_.cubin(linker_, made.image.data());
    }
    if (status != nvjitlink_success) {
      return failure(status, ptx ? "nvJitLinkGetLinkedPtx" : "nvJitLinkGetLinkedCubin");
    }
    made.log = log(with_.info_log_size, with_.info_log);
    return made;
  }

 private:
  [[nodiscard]] std::string log(int (*size_of)(linker, std::size_t*),
                                int (*take)(linker, char*)) const {
    std::size_t size = 0;
    if (linker_ == nullptr || size_of(linker_, &size) != nvjitlink_success || size == 0) return {};
    std::string text(size, '\0');
    if (take(linker_, text.data()) != nvjitlink_success) return {};
    while (!text.empty() && text.back() == '\0')
      text.pop_back();
    return text;
  }

  [[nodiscard]] error failure(int status, std::string_view call, const std::string& where = {}) {
    const auto at = static_cast<std::size_t>(status);
    const char* const name = at < status_names.size() ? status_names[at] : "an unknown status";
    const std::string message = log(with_.error_log_size, with_.error_log);
    return error{.code = errc::library_error,
                 .message = where + (message.empty() ? name : message),
                 .library = "nvjitlink",
                 .call = std::string(call),
                 .code_name = name,
                 .vendor_code = status};
  }

  const nvjitlink& with_;
  linker linker_ = nullptr;
};

}  // namespace

result<binary> link_with_nvjitlink(const job& what) {
  auto loaded = nvjitlink::load(what.library);
  if (!loaded) return std::move(loaded).error();
  return linking(*loaded).run(what);
}

}  // namespace troupe::jit
