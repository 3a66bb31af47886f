#include "info/vendor_libraries.hpp"

#include "info/built_for.hpp"
#include "info/found_library.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstddef>

namespace troupe::info {
namespace {

using text = std::optional<std::string>;

// Most return "major", "minor" and "patch" as a libraryPropertyType of 0, 1 and 2.
text of_properties(const found_library& library, const char* function) {
  auto* ask = library.find<int(int, int*)>(function);
  std::array<int, 3> parts{};
  for (int i = 0; i < 3; ++i) {
    if (ask == nullptr || ask(i, &parts[static_cast<std::size_t>(i)]) != 0) return std::nullopt;
  }
  return fmt::format("{}.{}.{}", parts[0], parts[1], parts[2]);
}

// 10 000 · major + 100 · minor + patch. Source: nccl.h, cutensor/types.h.
std::string of_number(std::size_t number) {
  return fmt::format("{}.{}.{}", number / 10'000, number % 10'000 / 100, number % 100);
}

text of_pair(const found_library& library, const char* function) {
  auto* ask = library.find<int(int*, int*)>(function);
  int major = 0;
  int minor = 0;
  if (ask == nullptr || ask(&major, &minor) != 0) return std::nullopt;
  return fmt::format("{}.{}", major, minor);
}

text of_nccl(const found_library& library) {
  auto* ask = library.find<int(int*)>("ncclGetVersion");
  int number = 0;
  if (ask == nullptr || ask(&number) != 0) return std::nullopt;
  return of_number(static_cast<std::size_t>(number));
}

text of_cutensor(const found_library& library) {
  auto* ask = library.find<std::size_t()>("cutensorGetVersion");
  return ask == nullptr ? std::nullopt : text(of_number(ask()));
}

template <const char* Function>
text properties(const found_library& library) {
  return of_properties(library, Function);
}
template <const char* Function>
text pair(const found_library& library) {
  return of_pair(library, Function);
}

constexpr char cublas[] = "cublasGetProperty";
constexpr char cublas_lt[] = "cublasLtGetProperty";
constexpr char cudnn[] = "cudnnGetProperty";
constexpr char cufft[] = "cufftGetProperty";
constexpr char curand[] = "curandGetProperty";
constexpr char cusolver[] = "cusolverGetProperty";
constexpr char cusparse[] = "cusparseGetProperty";
constexpr char nvrtc[] = "nvrtcVersion";
constexpr char nvjitlink[] = "nvJitLinkVersion";

}  // namespace

std::span<const vendor_library> vendor_libraries() {
  static const std::array libraries{
      vendor_library{"cuBLAS", "libcublas.so.13", "cuda-blas", built_for.cublas,
                     &properties<cublas>},
      vendor_library{"cuBLASLt", "libcublasLt.so.13", "cuda-blaslt", built_for.cublas,
                     &properties<cublas_lt>},
      vendor_library{"cuDNN", "libcudnn.so.9", "cuda-dnn", built_for.cudnn, &properties<cudnn>},
      vendor_library{"cuFFT", "libcufft.so.12", "cuda-fft", built_for.cufft, &properties<cufft>},
      vendor_library{"cuRAND", "libcurand.so.10", "cuda-rng", built_for.curand,
                     &properties<curand>},
      vendor_library{"cuSOLVER", "libcusolver.so.12", "cuda-solver", built_for.cusolver,
                     &properties<cusolver>},
      vendor_library{"cuSPARSE", "libcusparse.so.12", "cuda-sparse", built_for.cusparse,
                     &properties<cusparse>},
      vendor_library{"cuTENSOR", "libcutensor.so.2", "cuda-tensor_ops", built_for.cutensor,
                     &of_cutensor},
      vendor_library{"NVRTC", "libnvrtc.so.13", compiler_of_kernels, built_for.toolkit,
                     &pair<nvrtc>},
      vendor_library{"nvJitLink", "libnvJitLink.so.13", compiler_of_kernels, built_for.toolkit,
                     &pair<nvjitlink>},
      vendor_library{"NCCL", "libnccl.so.2", "cuda-nccl", built_for.nccl, &of_nccl},
  };
  return libraries;
}

vendor_finding look_for(const vendor_library& library) {
  vendor_finding finding;
  auto loaded = found_library::open(std::string(library.soname));
  if (!loaded) {
    finding.problem = std::move(loaded).error().message;
    return finding;
  }
  finding.path = loaded->path();
  const text version = library.version(*loaded);
  finding.found = version.value_or("unknown");
  if (!version) {
    finding.problem = "it does not say its version";
  } else if (!library.built_for.empty() && older(*version, library.built_for)) {
    finding.problem =
        fmt::format("older than what this build was made with; install {} {} or newer",
                    library.name, library.built_for);
  }
  return finding;
}

bool older(std::string_view found, std::string_view wanted) {
  const auto next = [](std::string_view& version) {
    int number = 0;
    const char* const begin = version.data();
    const auto [end, code] = std::from_chars(begin, begin + version.size(), number);
    version.remove_prefix(static_cast<std::size_t>(end - begin));
    if (!version.empty()) version.remove_prefix(1);
    return code == std::errc() ? number : 0;
  };
  while (!found.empty() && !wanted.empty()) {
    const int a = next(found);
    const int b = next(wanted);
    if (a != b) return a < b;
  }
  return false;
}

}  // namespace troupe::info
