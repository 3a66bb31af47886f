// Random requests for one device and for several, beside kills, against what they do one by one.
#include "worlds/accumulator.hpp"

#include <array>
#include <csignal>
#include <cstdlib>
#include <random>

namespace troupe::worlds {
namespace {

constexpr std::size_t ranks = 3;
constexpr std::size_t slots = 3;
constexpr std::size_t count = 500;

using numbers = std::vector<std::uint64_t>;

class schedule {
 public:
  explicit schedule(std::uint64_t seed) : random_(seed) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      for (std::size_t slot = 0; slot < slots; ++slot) {
        tensors_[rank][slot] = devices_[rank].tensor<std::uint64_t>({count}).value();
        fill(rank, slot);
      }
    }
  }
  void step() {
    const std::size_t rank = any(ranks), other = any(ranks), from = any(slots), to = any(slots);
    // A copy of a tensor to itself reads what it writes, so a lost worker would abort it.
    switch (any(6)) {
      case 0:
        return fill(rank, to);
      case 1:
        if (from == to) return;
        expect(devices_[rank].tell(
            memory::copy{.from = tensors_[rank][from], .to = tensors_[rank][to]}));
        wanted_[rank][to] = wanted_[rank][from];
        return;
      case 2:
        if (rank == other && from == to) return;
        copies_.push_back(devices_[any(ranks)].copy(tensors_[rank][from], tensors_[other][to]));
        wanted_[other][to] = wanted_[rank][from];
        return;
      case 3:
        return broadcast(rank, from, to);
      case 4:
        return exchange(from, to);
      default:
        return sum(from, to);
    }
  }
  void kill() {
    if (const auto worker = devices_[any(ranks)].worker_pid()) ::kill(*worker, SIGKILL);
  }
  void compare() {
    for (auto& one : copies_)
      expect(one.get_result());
    copies_.clear();
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      for (std::size_t slot = 0; slot < slots; ++slot) {
        numbers got(count);
        expect(devices_[rank].copy(tensors_[rank][slot], got).get_result());
        EXPECT_EQ(got, wanted_[rank][slot]) << rank << ' ' << slot;
      }
    }
  }

 private:
  std::size_t any(std::size_t below) { return random_() % below; }
  static void expect(const result<void>& outcome) {
    EXPECT_TRUE(outcome) << outcome.error().to_string();
  }
  void fill(std::size_t rank, std::size_t slot) {
    const auto value = static_cast<std::int64_t>(any(1000));
    expect(devices_[rank].tell(memory::fill{.to = tensors_[rank][slot], .value = value}));
    wanted_[rank][slot].assign(count, static_cast<std::uint64_t>(value));
  }
  void broadcast(std::size_t root, std::size_t from, std::size_t to) {
    std::vector<any_tensor> y;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      y.emplace_back(tensors_[rank][to]);
    // The root's may be its x.
    expect(all_.tell(collective::broadcast{.x = all_.by_rank({tensors_[root][from]}),
                                           .y = y,
                                           .root = static_cast<std::int64_t>(root)}));
    const numbers sent = wanted_[root][from];
    for (auto& rank : wanted_)
      rank[to] = sent;
  }
  // Each rank to the next one.
  void exchange(std::size_t from, std::size_t to) {
    if (from == to) return;
    std::vector<any_tensor> x, y;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      x.emplace_back(tensors_[rank][from]);
      y.emplace_back(tensors_[(rank + 1) % ranks][to]);
    }
    expect(all_.tell(collective::exchange{.x = all_.by_rank(x), .y = all_.by_rank(y)}));
    for (std::size_t rank = 0; rank < ranks; ++rank)
      wanted_[(rank + 1) % ranks][to] = wanted_[rank][from];
  }
  // Over all ranks or two of them, in place or not.
  void sum(std::size_t from, std::size_t to) {
    const std::size_t first = any(ranks);
    const std::size_t members = 2 + any(ranks - 1);
    std::vector<any_tensor> x, y;
    numbers total(count);
    for (std::size_t i = 0; i < members; ++i) {
      const std::size_t rank = (first + i) % ranks;
      x.emplace_back(tensors_[rank][from]);
      y.emplace_back(tensors_[rank][to]);
      for (std::size_t k = 0; k < count; ++k)
        total[k] += wanted_[rank][from][k];
    }
    const world w = members == ranks
                        ? all_.subset({first, (first + 1) % ranks, (first + 2) % ranks})
                        : all_.subset({first, (first + 1) % ranks});
    expect(w.tell(collective::all_reduce{.x = x, .y = y}));
    for (std::size_t i = 0; i < members; ++i)
      wanted_[(first + i) % ranks][to] = total;
  }

  std::mt19937_64 random_;
  system s_{{.log = [](const log_entry&) {}}};
  std::vector<device> devices_ = [this] {
    auto config = small(true);
    config.full = when_full::wait;
    return devices_of(s_, ranks, config);
  }();
  world all_ = s_.world(devices_);
  std::array<std::array<tensor<std::uint64_t>, slots>, ranks> tensors_;
  std::array<std::array<numbers, slots>, ranks> wanted_;
  std::vector<future<void>> copies_;
};

// TROUPE_SCHEDULES=n: so many.
TEST(WorldSchedule, DoesWhatItsRequestsDoOneByOne) {
  const char* const wanted = std::getenv("TROUPE_SCHEDULES");  // NOLINT(concurrency-mt-unsafe)
  const std::uint64_t schedules = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 2;
  for (std::uint64_t seed = 1; seed <= schedules; ++seed) {
    SCOPED_TRACE(seed);
    schedule requests(seed);
    for (int i = 1; i <= 200; ++i) {
      requests.step();
      if (seed % 2 == 0 && i % 40 == 0) requests.kill();
      if (i % 100 == 0) requests.compare();
    }
  }
}

}  // namespace
}  // namespace troupe::worlds
