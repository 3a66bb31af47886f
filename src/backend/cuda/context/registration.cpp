#include "backend/cuda/context/registration.hpp"

#include <map>
#include <mutex>

namespace troupe::cuda {
namespace {

// Counts the registrations of each piece.
struct registered {
  std::mutex mutex;
  std::map<std::byte*, int> pieces;
};
registered& of_process() {
  static registered all;
  return all;
}

}  // namespace

result<host_registration> host_registration::make(const driver& d, std::byte* at,
                                                  std::uint64_t bytes) {
  registered& all = of_process();
  const std::lock_guard lock(all.mutex);
  int& count = all.pieces[at];
  if (count == 0) {
    auto done = check(
        d.cuMemHostRegister(at, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP),
        "cuMemHostRegister");
    if (!done) {
      all.pieces.erase(at);
      return std::move(done).error();
    }
  }
  ++count;
  return host_registration(d, at);
}

host_registration::~host_registration() {
  if (at_ == nullptr) return;
  registered& all = of_process();
  const std::lock_guard lock(all.mutex);
  const auto found = all.pieces.find(at_);
  if (--found->second > 0) return;
  all.pieces.erase(found);
  (void)driver_->cuMemHostUnregister(at_);
}

}  // namespace troupe::cuda
