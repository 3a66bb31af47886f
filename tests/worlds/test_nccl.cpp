// A library with the functions of NCCL that moves host memory: a `libnccl.so.2` for the tests.
// Ranks are processes that have mapped each other's tensors at the same addresses. Like NCCL, a
// call waits for the other ranks for ever, until its communicator is aborted by another thread.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

namespace {

constexpr int most_ranks = 8;
constexpr int most_calls = 64;
enum { success = 0, internal_error = 3 };

struct call {
  enum kind { all_reduce, reduce, reduce_scatter, broadcast, all_gather, send, receive };
  kind what;
  const void* from;
  void* to;
  std::size_t count;
  int type;
  int op;
  int root;  // or the peer
};

// Memory that the ranks of a communicator share.
struct meeting {
  std::atomic<int> created;
  std::atomic<std::uint64_t> arrived[most_ranks];  // barriers that a rank has come to
  int calls[most_ranks];
  call list[most_ranks][most_calls];
};

}  // namespace

struct ncclComm {
  meeting* shared;
  int ranks;
  int rank;
  std::uint64_t barriers = 0;
  std::atomic<bool> aborted{false};
};

namespace {

bool barrier(ncclComm& c) {
  const std::uint64_t number = ++c.barriers;
  c.shared->arrived[c.rank].store(number, std::memory_order_release);
  for (int peer = 0; peer < c.ranks; ++peer) {
    while (c.shared->arrived[peer].load(std::memory_order_acquire) < number) {
      if (c.aborted.load(std::memory_order_acquire)) return false;
      const timespec some{0, 20'000};
      ::nanosleep(&some, nullptr);
    }
  }
  return !c.aborted.load(std::memory_order_acquire);
}

std::size_t size_of(int type) {
  constexpr std::size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return sizes[type];
}

template <class T>
void sum_of(const call (*all)[most_calls], int number, int ranks, std::size_t from, void* to,
            std::size_t count, int op) {
  for (std::size_t i = 0; i < count; ++i) {
    T value{};
    for (int rank = 0; rank < ranks; ++rank) {
      const T x = static_cast<const T*>(all[rank][number].from)[from + i];
      if (op == 1)
        value = rank == 0 ? x : static_cast<T>(value * x);
      else if (op == 2)
        value = rank == 0 || value < x ? x : value;
      else if (op == 3)
        value = rank == 0 || x < value ? x : value;
      else
        value = static_cast<T>(value + x);
    }
    static_cast<T*>(to)[i] = op == 4 ? static_cast<T>(value / static_cast<T>(ranks)) : value;
  }
}

bool reduce(const ncclComm& c, int number, std::size_t from, void* to, std::size_t count) {
  const call& mine = c.shared->list[c.rank][number];
  const auto run = [&]<class T>(T) {
    sum_of<T>(c.shared->list, number, c.ranks, from, to, count, mine.op);
    return true;
  };
  switch (mine.type) {
    case 0:
      return run(std::int8_t{});
    case 1:
      return run(std::uint8_t{});
    case 2:
      return run(std::int32_t{});
    case 3:
      return run(std::uint32_t{});
    case 4:
      return run(std::int64_t{});
    case 5:
      return run(std::uint64_t{});
    case 7:
      return run(float{});
    case 8:
      return run(double{});
    default:
      return false;  // the tests reduce no small floats
  }
}

// The sends of one rank to another match its receives in their order.
const call* sent_to(const ncclComm& c, int source, int nth) {
  for (int k = 0; k < c.shared->calls[source]; ++k) {
    const call& one = c.shared->list[source][k];
    if (one.what == call::send && one.root == c.rank && nth-- == 0) return &one;
  }
  return nullptr;
}

bool carry_out(ncclComm& c) {
  int received[most_ranks] = {};
  for (int k = 0; k < c.shared->calls[c.rank]; ++k) {
    const call& mine = c.shared->list[c.rank][k];
    const std::size_t bytes = mine.count * size_of(mine.type);
    bool good = true;
    switch (mine.what) {
      case call::all_reduce:
        good = reduce(c, k, 0, mine.to, mine.count);
        break;
      case call::reduce:
        good = c.rank != mine.root || reduce(c, k, 0, mine.to, mine.count);
        break;
      case call::reduce_scatter:
        good = reduce(c, k, static_cast<std::size_t>(c.rank) * mine.count, mine.to, mine.count);
        break;
      case call::broadcast:
        std::memmove(mine.to, c.shared->list[mine.root][k].from, bytes);
        break;
      case call::all_gather:
        for (int peer = 0; peer < c.ranks; ++peer)
          std::memcpy(static_cast<std::byte*>(mine.to) + static_cast<std::size_t>(peer) * bytes,
                      c.shared->list[peer][k].from, bytes);
        break;
      case call::receive: {
        const call* const its = sent_to(c, mine.root, received[mine.root]++);
        good = its != nullptr && its->count == mine.count;
        if (good) std::memcpy(mine.to, its->from, bytes);
        break;
      }
      case call::send:
        break;
    }
    if (!good) return false;
  }
  return true;
}

thread_local int depth = 0;
thread_local ncclComm* grouped = nullptr;
thread_local std::vector<call> calls;

int end_group() {
  ncclComm* const c = std::exchange(grouped, nullptr);
  const std::vector<call> made = std::exchange(calls, {});
  if (c == nullptr) return success;
  if (made.size() > most_calls) return internal_error;
  std::memcpy(c->shared->list[c->rank], made.data(), made.size() * sizeof(call));
  c->shared->calls[c->rank] = static_cast<int>(made.size());
  if (!barrier(*c)) return internal_error;
  const bool good = carry_out(*c);
  return barrier(*c) && good ? success : internal_error;
}

int add(ncclComm* c, call one) {
  grouped = c;
  calls.push_back(one);
  return depth > 0 ? success : end_group();
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] extern const int troupe_test_nccl = 1;

[[gnu::visibility("default")]] int ncclGetVersion(int* version) {
  *version = std::getenv("TROUPE_TEST_NCCL_IS_OLD") != nullptr ? 21307 : 22809;
  return success;
}
[[gnu::visibility("default")]] const char* ncclGetErrorString(int) {
  return "an error of the test";
}
[[gnu::visibility("default")]] int ncclGetUniqueId(char* id) {
  static std::atomic<int> made{0};
  std::memset(id, 0, 128);
  std::snprintf(id, 128, "/troupe-nccl-%d-%d", ::getpid(), made++);
  return success;
}
struct id_by_value {
  char name[128];
};
[[gnu::visibility("default")]] int ncclCommInitRank(ncclComm** made, int ranks, id_by_value id,
                                                    int rank) {
  if (std::getenv("TROUPE_TEST_NCCL_FAILS") != nullptr) return internal_error;
  const int file = ::shm_open(id.name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ::ftruncate(file, sizeof(meeting)) != 0) return internal_error;
  void* const at = ::mmap(nullptr, sizeof(meeting), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (at == MAP_FAILED || ranks > most_ranks) return internal_error;
  *made = new ncclComm{static_cast<meeting*>(at), ranks, rank};
  const bool all = barrier(**made);
  if (rank == 0) ::shm_unlink(id.name);
  return all ? success : internal_error;
}
// It stays allocated: a call may still look at it.
[[gnu::visibility("default")]] int ncclCommAbort(ncclComm* c) {
  c->aborted.store(true, std::memory_order_release);
  return success;
}
[[gnu::visibility("default")]] int ncclCommGetAsyncError(ncclComm*, int* state) {
  *state = success;
  return success;
}
[[gnu::visibility("default")]] int ncclGroupStart() {
  ++depth;
  return success;
}
[[gnu::visibility("default")]] int ncclGroupEnd() { return --depth > 0 ? success : end_group(); }
[[gnu::visibility("default")]] int ncclAllReduce(const void* x, void* y, std::size_t n, int type,
                                                 int op, ncclComm* c, void*) {
  return add(c, {call::all_reduce, x, y, n, type, op, 0});
}
[[gnu::visibility("default")]] int ncclReduce(const void* x, void* y, std::size_t n, int type,
                                              int op, int root, ncclComm* c, void*) {
  return add(c, {call::reduce, x, y, n, type, op, root});
}
[[gnu::visibility("default")]] int ncclReduceScatter(const void* x, void* y, std::size_t n,
                                                     int type, int op, ncclComm* c, void*) {
  return add(c, {call::reduce_scatter, x, y, n, type, op, 0});
}
[[gnu::visibility("default")]] int ncclBroadcast(const void* x, void* y, std::size_t n, int type,
                                                 int root, ncclComm* c, void*) {
  return add(c, {call::broadcast, x, y, n, type, 0, root});
}
[[gnu::visibility("default")]] int ncclAllGather(const void* x, void* y, std::size_t n, int type,
                                                 ncclComm* c, void*) {
  return add(c, {call::all_gather, x, y, n, type, 0, 0});
}
[[gnu::visibility("default")]] int ncclSend(const void* x, std::size_t n, int type, int peer,
                                            ncclComm* c, void*) {
  return add(c, {call::send, x, nullptr, n, type, 0, peer});
}
[[gnu::visibility("default")]] int ncclRecv(void* y, std::size_t n, int type, int peer, ncclComm* c,
                                            void*) {
  return add(c, {call::receive, nullptr, y, n, type, 0, peer});
}
// The tests scale nothing.
[[gnu::visibility("default")]] int ncclRedOpCreatePreMulSum(int*, void*, int, int, ncclComm*) {
  return internal_error;
}
[[gnu::visibility("default")]] int ncclRedOpDestroy(int, ncclComm*) { return success; }

}  // extern "C"
