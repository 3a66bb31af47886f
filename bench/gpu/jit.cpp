// The cost of a kernel of one's own through Troupe: a launch of it beside the driver's, and a
// compiled one that is found on disk beside compiling it.

#include "gpu/raw/raw.hpp"
#include "gpu/raw/raw_kernel.hpp"
#include "side_by_side.hpp"

#include <troupe/jit/compiler.hpp>
#include <troupe/jit/kernel.hpp>
#include <troupe/jit/launch.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

namespace {

using namespace troupe;
using namespace troupe::bench;

constexpr std::int32_t n = 256;
constexpr std::size_t elements = n;

jit::source addition(const std::string& architecture, int which = 0) {
  return {.text = fmt::format(R"(
template <class T> __global__ void add(const T* a, const T* b, T* c, int n) {{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i] + {};
}})",
                              which),
          .names = {"add<float>"},
          .architecture = architecture};
}

device open(troupe::system& system, isolation where) {
  const bool process = where == isolation::process;
  device gpu = system.device(0, {.isolation = where,
                                 .backend = backend_kind::cuda,
                                 .full = when_full::wait,
                                 .standby = process});
  wait_until_settled(gpu, process);
  return gpu;
}

void measure_launch(report& out, raw::stream& stream, device gpu, const std::string& where,
                    std::optional<target> median) {
  jit::compiler compiler({.disk_cache = false});
  const auto made = compiler.compile(addition(jit::architecture_of(gpu).value())).get();
  const auto add = jit::load(gpu, made).value().kernel("add<float>").value();
  const auto a = gpu.tensor<float>({n}, initial::zero).value();
  const auto b = gpu.tensor<float>({n}, initial::zero).value();
  const auto c = gpu.tensor<float>({n}).value();
  const library_actor lane = gpu.library("jit");

  raw::kernel floor(made.image, made.names[0].lowered);
  const raw::memory room(raw::memory::place::device, 3 * elements * sizeof(float));
  auto* const begin = static_cast<float*>(room.address());
  float* x = begin;
  float* y = begin + n;
  float* z = y + n;
  std::int32_t count = n;
  void* parameters[] = {&x, &y, &z, &count};
  const jit::launch launch{.kernel = add,
                           .block = {.x = n},
                           .arguments = {jit::reads(a), jit::reads(b), jit::writes(c), n}};

  auto times = take_in_turn(
      {.blocks = 100, .warm_up = 20, .per_block = 1'000},
      [&] {
        floor.launch(stream, 1, n, parameters);
        stream.synchronize();
      },
      [&] { lane.ask(launch).get(); });
  add_times(out, times,
            {.name = "launch of a compiled kernel, ask, " + where,
             .reference = "cuLaunchKernel + synchronize",
             .median = median});

  constexpr int loop = 20'000;
  auto told = take_in_turn(
      {.blocks = 20, .warm_up = 1, .per_block = 1},
      [&] {
        for (int i = 0; i < loop; ++i)
          floor.launch(stream, 1, n, parameters);
        stream.synchronize();
      },
      [&] {
        for (int i = 1; i < loop; ++i)
          lane.tell(launch).value();
        lane.ask(launch).get();
      });
  add_times(out, told,
            {.name = "launches of a compiled kernel, tell, " + where,
             .reference = "cuLaunchKernel in a loop",
             .per_microsecond = 1.0 / loop});
}

/// A folder that is gone afterwards.
class folder {
 public:
  folder()
      : path_(std::filesystem::temp_directory_path() / fmt::format("troupe_jit_{}", ::getpid())) {}
  ~folder() {
    std::error_code failed;
    std::filesystem::remove_all(path_, failed);
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// A program that starts has an empty memory, and perhaps its kernels on disk.
void measure_start(report& out) {
  const folder cache;
  const jit::compiler_config config{.cache_folder = cache.path()};
  const jit::source kept = addition("sm_90a");
  (void)jit::compiler(config).compile(kept).get();
  int which = 0;
  auto times = take_in_turn(
      {.blocks = 10, .warm_up = 1, .per_block = 5},
      [&] { (void)jit::compiler(config).compile(addition("sm_90a", ++which)).get(); },
      [&] {
        jit::compiler compiler(config);
        if (compiler.compile(kept).get().from != jit::origin::disk_cache) {
          throw std::runtime_error("it was not on disk");
        }
      });
  add_times(out, times,
            {.name = "a kernel from the cache on disk",
             .reference = "compiling it",
             .median = at_most(2'000)});
}

}  // namespace

int main() {
  report out("gpu_jit: kernels from source through Troupe, beside the driver's own launch");
  section(out, "start of a kernel", [&] { measure_start(out); });
  section(out, "launches", [&] {
    fmt::print("{}\n", raw::open_device());
    raw::stream stream;
    {
      troupe::system system;
      measure_launch(out, stream, open(system, isolation::process), "process", ratio_at_most(1.10));
    }
    troupe::system system;
    measure_launch(out, stream, open(system, isolation::thread), "thread", std::nullopt);
  });
  return out.finish();
}
