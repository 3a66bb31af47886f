#include "steps.hpp"

#include "base/spin_wait.hpp"
#include "stepping.hpp"
#include "worker/process/crash.hpp"

#include <new>

namespace troupe::kills {
namespace {

journal* noted_in = nullptr;

// Between the two notes, so that a kill may come in the middle of it.
template <class Request, class Work>
result<std::int64_t> run(const Request& r, Work&& work) {
  if (noted_in->steps_to_death().load(std::memory_order_relaxed) != 0) {
    const std::uint32_t steps = noted_in->steps_to_death().exchange(0);
    if (steps != 0) die_in_steps(steps, noted_in->died_ns());
  }
  fate& mine = noted_in->of(r.number);
  noted_in->runs(worker::crash::of_this_thread().ticket).fetch_add(1, std::memory_order_relaxed);
  mine.begun.fetch_add(1, std::memory_order_relaxed);
  for (std::int64_t i = 0; i < r.pauses; ++i)
    detail::pause_cpu();
  auto* const cell = const_cast<any_tensor&>(r.cell).template data<std::int64_t>();
  const std::int64_t outcome = work(cell);
  mine.ended.fetch_add(1, std::memory_order_relaxed);
  return outcome;
}

result<std::int64_t> run_put(const put& r, lane_context&) {
  return run(r, [&](std::int64_t* cell) { return *cell = r.number; });
}

result<std::int64_t> run_add(const add& r, lane_context&) {
  return run(r, [&](std::int64_t* cell) { return *cell += r.number; });
}

}  // namespace

journal::journal() {
  const os::unique_fd memory =
      os::create_shared_memory("troupe-kills-journal", sizeof(content)).value();
  pages_ = os::map(memory, sizeof(content), os::protection::read_write).value();
  ::new (pages_.address()) content();
}

void journal::forget_all() noexcept {
  for (fate& one : pages().fates)
    one.forget();
  for (auto& count : pages().runs)
    count.store(0, std::memory_order_relaxed);
  pages().steps_to_death.store(0);
  pages().steps_of_sender.store(0);
  pages().died_ns.store(0);
}

operation_table operations_noting(journal& fates) {
  noted_in = &fates;
  operation_table operations;
  operations.add(&run_put, effort::by_size);
  operations.add(&run_add, effort::by_size);
  return operations;
}

}  // namespace troupe::kills
