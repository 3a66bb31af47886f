#include "jit/compiler/compile.hpp"
#include "jit/compiler/vendor_library.hpp"

#include <memory>
#include <utility>

// NVRTC is located at run time, and this is built without its header. Source of names, types and
// numbers: NVRTC, "NVRTC User Guide", version 13.0.
namespace troupe::jit {
namespace {

using program = void*;  // nvrtcProgram
enum : int { nvrtc_success = 0, nvrtc_out_of_memory = 1 };

struct nvrtc {
  const char* (*error_string)(int) = nullptr;
  int (*create)(program*, const char*, const char*, int, const char* const*,
                const char* const*) = nullptr;
  int (*destroy)(program*) = nullptr;
  int (*add_name)(program, const char*) = nullptr;
  int (*compile)(program, int, const char* const*) = nullptr;
  int (*log_size)(program, std::size_t*) = nullptr;
  int (*log)(program, char*) = nullptr;
  int (*lowered_name)(program, const char*, const char**) = nullptr;
  int (*cubin_size)(program, std::size_t*) = nullptr;
  int (*cubin)(program, char*) = nullptr;
  int (*ptx_size)(program, std::size_t*) = nullptr;
  int (*ptx)(program, char*) = nullptr;
  int (*lto_size)(program, std::size_t*) = nullptr;
  int (*lto)(program, char*) = nullptr;

  [[nodiscard]] static result<nvrtc> load(const std::string& path) {
    auto library = vendor_library::open(path);
    if (!library) return std::move(library).error();
    nvrtc n;
    library->find(n.error_string, "nvrtcGetErrorString");
    library->find(n.create, "nvrtcCreateProgram");
    library->find(n.destroy, "nvrtcDestroyProgram");
    library->find(n.add_name, "nvrtcAddNameExpression");
    library->find(n.compile, "nvrtcCompileProgram");
    library->find(n.log_size, "nvrtcGetProgramLogSize");
    library->find(n.log, "nvrtcGetProgramLog");
    library->find(n.lowered_name, "nvrtcGetLoweredName");
    library->find(n.cubin_size, "nvrtcGetCUBINSize");
    library->find(n.cubin, "nvrtcGetCUBIN");
    library->find(n.ptx_size, "nvrtcGetPTXSize");
    library->find(n.ptx, "nvrtcGetPTX");
    library->find(n.lto_size, "nvrtcGetLTOIRSize");
    library->find(n.lto, "nvrtcGetLTOIR");
    if (library->missing().empty()) return n;
    return error{.code = errc::library_missing,
                 .message = path + " has no " + library->missing() + ": is it of CUDA 13?",
                 .library = "nvrtc"};
  }

  [[nodiscard]] error failure(int status, std::string_view call, std::string message) const {
    const char* const name = error_string(status);
    if (message.empty()) message = name;
    return error{.code = status == nvrtc_out_of_memory ? errc::out_of_memory : errc::library_error,
                 .message = std::move(message),
                 .library = "nvrtc",
                 .call = std::string(call),
                 .code_name = name,
                 .vendor_code = status};
  }
};

class compilation {
 public:
  explicit compilation(const nvrtc& with) noexcept : nvrtc_(with) {}
  ~compilation() {
    if (program_ != nullptr) (void)nvrtc_.destroy(&program_);
  }
  compilation(const compilation&) = delete;
  compilation& operator=(const compilation&) = delete;

  result<binary> run(const job& what) {
    std::vector<const char*> texts;
    std::vector<const char*> names;
    for (const header& one : what.headers) {
      texts.push_back(one.text.c_str());
      names.push_back(one.name.c_str());
    }
    if (const int status =
            nvrtc_.create(&program_, what.text.c_str(), what.name.c_str(),
                          static_cast<int>(texts.size()), texts.data(), names.data());
        status != nvrtc_success) {
      return nvrtc_.failure(status, "nvrtcCreateProgram", {});
    }
    for (const std::string& name : what.names) {
      if (const int status = nvrtc_.add_name(program_, name.c_str()); status != nvrtc_success) {
        return nvrtc_.failure(status, "nvrtcAddNameExpression", "name expression " + name);
      }
    }
    std::vector<const char*> options;
    options.reserve(what.options.size());
    for (const std::string& option : what.options)
      options.push_back(option.c_str());
    const int status = nvrtc_.compile(program_, static_cast<int>(options.size()), options.data());
    binary made{.kind = what.output, .log = log()};
    if (status != nvrtc_success) return nvrtc_.failure(status, "nvrtcCompileProgram", made.log);
    for (const std::string& name : what.names) {
      const char* lowered = nullptr;
      if (const int found = nvrtc_.lowered_name(program_, name.c_str(), &lowered);
          found != nvrtc_success) {
        return nvrtc_.failure(found, "nvrtcGetLoweredName", "name expression " + name);
      }
      made.names.push_back({.expression = name, .lowered = lowered});
    }
    if (auto taken = take_image(what.output, made); !taken) return std::move(taken).error();
    return made;
  }

 private:
  // As much as is available; a missing log must not cause a failure.
  [[nodiscard]] std::string log() const {
    std::size_t size = 0;
    if (nvrtc_.log_size(program_, &size) != nvrtc_success || size == 0) return {};
    std::string text(size, '\0');
    if (nvrtc_.log(program_, text.data()) != nvrtc_success) return {};
    text.pop_back();  // its NUL
    return text;
  }

  result<void> take_image(image_kind kind, binary& into) const {
    const bool cubin = kind == image_kind::cubin;
    const bool ptx = kind == image_kind::ptx;
    auto* const size_of = cubin ? nvrtc_.cubin_size : ptx ? nvrtc_.ptx_size : nvrtc_.lto_size;
    auto* const take = cubin ? nvrtc_.cubin : ptx ? nvrtc_.ptx : nvrtc_.lto;
    const std::string_view call = cubin ? "nvrtcGetCUBIN" : ptx ? "nvrtcGetPTX" : "nvrtcGetLTOIR";
    std::size_t size = 0;
    if (const int status = size_of(program_, &size); status != nvrtc_success) {
      return nvrtc_.failure(status, call, into.log);
    }
    into.image.resize(size);
    if (const int status = take(program_, reinterpret_cast<char*>(into.image.data()));
        status != nvrtc_success) {
      return nvrtc_.failure(status, call, into.log);
    }
    return {};
  }

  const nvrtc& nvrtc_;
  program program_ = nullptr;
};

}  // namespace

result<binary> compile_with_nvrtc(const job& what) {
  auto loaded = nvrtc::load(what.library);
  if (!loaded) return std::move(loaded).error();
  return compilation(*loaded).run(what);
}

}  // namespace troupe::jit
