// Journals of a device, replayed on the same one.
//
//   gpu_journal [--requests N] [--folder PATH] [--against cpu]
//
// Records N requests of several libraries on the device that TROUPE_BACKEND says, and replays them
// twice: every outcome, reply and value that came back must be the same, bit for bit. Then injects
// each kind of fault that ends a worker, and replays each from the journal that the fault has left.

#include "program.hpp"

#include <troupe/blas.hpp>
#include <troupe/elementwise.hpp>
#include <troupe/fault.hpp>
#include <troupe/fft.hpp>
#include <troupe/journal/replay.hpp>
#include <troupe/memory.hpp>
#include <troupe/rng.hpp>
#include <troupe/telemetry/request_journal.hpp>
#include <troupe/troupe.hpp>

#include <fmt/format.h>

#include <chrono>
#include <complex>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

namespace troupe::gpu_test {
namespace {

constexpr std::int64_t n = 96;
constexpr std::int64_t elements = n * n;

// A mixture in which each request uses what others have left.
void send_requests(device& gpu, std::int64_t count) {
  std::vector<float> numbers(elements);
  std::iota(numbers.begin(), numbers.end(), -4000.F);
  auto a = gpu.tensor<float>({n, n}).value();
  auto b = gpu.tensor<float>({n, n}).value();
  auto c = gpu.tensor<float>({n, n}).value();
  auto waves = gpu.tensor<std::complex<float>>({n, n}).value();
  gpu.copy(numbers, a).get();
  gpu.copy(numbers, b).get();
  gpu.copy(numbers, c).get();
  const std::vector<std::complex<float>> spectrum(elements, {1, -2});
  gpu.copy(spectrum, waves).get();
  for (std::int64_t i = 0; i < count; i += 6) {
    gpu.tell(rng::uniform{.to = a, .from = {.seed = static_cast<std::uint64_t>(i)}}).value();
    gpu.tell(blas::gemm{.a = a, .b = b, .c = c, .alpha = 0.01, .beta = 0.5}).value();
    gpu.tell(elementwise::softmax{.x = c, .y = b}).value();
    gpu.tell(fft::c2c{.in = waves, .out = waves, .scale = fft::normalization::ortho}).value();
    (void)gpu.ask(blas::nrm2{.x = b.reshape({elements}).value()}).get();
    if (i % 60 == 0) gpu.copy(numbers, a).get();
    gpu.copy(i % 60 == 0 ? c : b, numbers).get();
  }
}

bool is_equal(const std::string& what, const std::string& path, const replay_options& how,
              std::uint64_t least) {
  const auto done = replay(path, how);
  const bool good = done && done->equal() && done->requests >= least && done->outcomes >= least;
  fmt::print("{}: {}\n{}", what, good ? "equal" : "NOT EQUAL",
             done ? done->text() : done.error().to_string() + "\n");
  return good;
}

bool replay_requests(const std::string& folder, std::int64_t count, const std::string& against) {
  const std::string path = folder + "/requests.journal";
  {
    const auto journal =
        request_journal::open(path, {.behind = journal_options::when_behind::wait}).value();
    system all;
    device gpu = all.device(0, {.full = when_full::wait, .journal = journal});
    const auto begin = std::chrono::steady_clock::now();
    send_requests(gpu, count);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const journal_statistics noted = journal->statistics();
    fmt::print("recorded {} requests in {:.2f} s, gaps {}, on {}\n", noted.requests, took.count(),
               noted.gaps, gpu.description().name);
    if (noted.gaps != 0) return false;
  }
  fmt::print("the journal has {} bytes\n", std::filesystem::file_size(path));
  const auto least = static_cast<std::uint64_t>(count);
  bool good = is_equal("first replay", path, {.exact = true}, least);
  good = is_equal("second replay", path, {.exact = true}, least) && good;
  if (against.empty()) return good;
  replay_options how{.to = 600, .stop_at_difference = true, .against = backend_kind::cpu};
  return is_equal("600 requests against the CPU", path, how, 500) && good;
}

bool replay_faults(const std::string& folder) {
  const bool on_gpu = !troupe::system().device(0).description().architecture.empty();
  std::vector<fault::kind> kinds{
      fault::kind::segmentation_fault, fault::kind::abort, fault::kind::exit, fault::kind::trap,
      fault::kind::stack_overflow,     fault::kind::hang};
  if (on_gpu) {
    kinds.insert(kinds.end(), {fault::kind::unmapped_address, fault::kind::misaligned_address,
                               fault::kind::failed_assertion});
  }
  bool good = true;
  for (const fault::kind what : kinds) {
    const std::string own = fmt::format("{}/{}", folder, fault::to_string(what));
    {
      system all;
      device gpu = all.device(
          0, {.standby = false, .fault_injection = true, .fault_journal = {.folder = own}});
      auto x = gpu.tensor<float>({1000}).value();
      auto y = gpu.tensor<float>({1000}).value();
      gpu.ask(memory::fill{.to = x, .value = 3}).get();
      const auto outcome = gpu.ask(fault::inject{.what = what, .target = x, .output = y},
                                   {.run_limit = std::chrono::seconds(2)})
                               .get_result();
      if (outcome || outcome.error().code != errc::device_fault) {
        fmt::print("{}: {}\n", fault::to_string(what),
                   outcome ? "no fault" : outcome.error().to_string());
        good = false;
        continue;
      }
      gpu.ask(memory::fill{.to = y, .value = 0}).get();
    }
    int found = 0;
    for (const auto& file : std::filesystem::directory_iterator(own)) {
      ++found;
      good = is_equal(std::string(fault::to_string(what)), file.path().string(), {}, 1) && good;
    }
    good = good && found == 1;
  }
  return good;
}

int run(const arguments& words) {
  const std::string folder =
      words.text("--folder", (std::filesystem::temp_directory_path() / "troupe-journals").string());
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  bool good =
      replay_requests(folder, words.number("--requests", 10'000), words.text("--against", ""));
  good = replay_faults(folder) && good;
  std::filesystem::remove_all(folder);
  fmt::print("journal: {}\n", good ? "ok" : "FAILED");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace troupe::gpu_test

int main(int argc, char** argv) {
  return troupe::gpu_test::run(troupe::gpu_test::arguments(argc, argv));
}
